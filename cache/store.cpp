#include "cache/store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "cakejit/error.hpp"

namespace cakejit::cache {
namespace {

constexpr const char* kVersionFolder = "v1";
constexpr const char* kTemporaries = "tmp";
constexpr const char* kQuarantine = "quarantine";
constexpr std::size_t kMaxQuarantined = 16;
constexpr std::size_t kMaxManifestBytes = 1 << 20;
constexpr std::size_t kMaxSourceBytes = std::size_t{16} << 20;
// A build takes seconds; a temporary folder this old belongs to a writer that died.
constexpr std::int64_t kStaleAfterSeconds = 3600;

const char* code_file(CodeKind kind) {
  return kind == CodeKind::kCubin ? "code.cubin" : "code.ltoir";
}

[[noreturn]] void damaged(const std::string& what) {
  throw Error(CAKE_STATUS_CACHE, what);
}

// No other process or thread makes the same one: process, time and chance.
std::string unique_suffix() {
  static thread_local std::mt19937_64 generator{std::random_device{}()};
  return fmt::format("{}.{:016x}", ::getpid(), generator());
}

std::int64_t now_unix_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string_view digest_of(std::string_view name) {
  return name.substr(name.find("train_") + 6, 32);
}

void check_identity(const Request& request, const Manifest& manifest) {
  const auto same = [](const char* field, const auto& has, const auto& wanted) {
    if (has != wanted) damaged(fmt::format("its {} is {}, not {}", field, has, wanted));
  };
  same("digest", manifest.digest, request.digest);
  same("target", manifest.target, request.target);
  same("ABI version", manifest.abi_version, request.abi_version);
}

void check_bytes(const char* file, std::string_view bytes, std::uint64_t size, const std::string& checksum) {
  if (bytes.size() != size) damaged(fmt::format("{} has {} bytes, its manifest says {}", file, bytes.size(), size));
  if (const std::string found = xxh3_128(bytes).hex(); found != checksum) {
    damaged(fmt::format("{} has checksum {}, its manifest says {}", file, found, checksum));
  }
}

std::string required(std::optional<std::string> bytes, const char* file) {
  if (!bytes) damaged(fmt::format("{} is missing", file));
  return *std::move(bytes);
}

}  // namespace

Store::Store(Path root, Access access, std::shared_ptr<spdlog::logger> log, std::shared_ptr<FileSystem> files,
             Sharing sharing)
    : root_(std::move(root)), access_(access), log_(std::move(log)), files_(std::move(files)), sharing_(sharing) {}

Path Store::entry_path(const std::string& name) const {
  if (!is_library_name(name)) {
    throw Error(CAKE_STATUS_CACHE, fmt::format("\"{}\" is no library name; it must be cake_causal_conv1d_det_train_<32 "
                                               "hex digits>[_kcp]",
                                               name));
  }
  return root_ / kVersionFolder / digest_of(name).substr(0, 2) / name;
}

namespace {

std::string distrust_directory(const FileSystem& files, const Path& directory) {
  const auto status = files.status(directory);
  if (!status) return {};
  if (status->kind != FileStatus::Kind::kDirectory) return fmt::format("{} is no directory", directory.string());
  if (status->owner != ::geteuid() && status->owner != 0) {
    return fmt::format("{} belongs to user {}, neither to this user ({}) nor to root", directory.string(),
                       status->owner, ::geteuid());
  }
  if ((status->permissions & 0022) != 0) {
    return fmt::format("{} can be written by others (mode {:04o}); remove that with chmod go-w", directory.string(),
                       status->permissions);
  }
  return {};
}

}  // namespace

std::string Store::distrust(const std::string& name) const {
  // The root itself may be a symbolic link of the operator's making; below it nothing may.
  std::error_code error;
  const Path real_root = std::filesystem::weakly_canonical(root_, error);
  const Path path = entry_path(name);
  for (const Path& directory : {error ? root_ : real_root, root_ / kVersionFolder, path.parent_path(), path}) {
    if (std::string why = distrust_directory(*files_, directory); !why.empty()) return why;
  }
  return {};
}

Entry Store::read_verified(const std::string& name, bool with_source) const {
  const Path path = entry_path(name);
  Entry entry;
  entry.manifest = parse_manifest(required(files_->read(path / "manifest.json", kMaxManifestBytes), "manifest.json"));
  const Manifest& m = entry.manifest;
  if (m.name != name) damaged(fmt::format("its manifest is that of {}", m.name));
  if (m.digest != digest_of(name)) damaged(fmt::format("its manifest's digest is {}", m.digest));
  if (m.code_bytes == 0) damaged("its code is empty");
  const char* file = code_file(m.code_kind);
  entry.code = required(files_->read(path / file, m.code_bytes), file);
  check_bytes(file, entry.code, m.code_bytes, m.code_checksum);
  if (with_source) {
    entry.source = required(files_->read(path / "source.cu", kMaxSourceBytes), "source.cu");
    check_bytes("source.cu", entry.source, m.source_bytes, m.source_checksum);
  }
  return entry;
}

std::optional<Entry> Store::load(const Request& request) const {
  if (!is_library_name(request.name)) return std::nullopt;
  try {
    if (!files_->status(entry_path(request.name))) return std::nullopt;
    if (const std::string why = distrust(request.name); !why.empty()) {
      log_->warn("nothing is loaded from the cache {}: {}", root_.string(), why);
      return std::nullopt;
    }
    Entry entry = read_verified(request.name, false);
    check_identity(request, entry.manifest);
    return entry;
  } catch (const Error& error) {
    log_->warn("cache entry {} in {} is not usable: {}. It is rebuilt or taken from the next layer.", request.name,
               root_.string(), error.what());
    if (access_ == Access::kReadWrite) set_aside(request.name);
    return std::nullopt;
  }
}

void Store::write_entry(const Path& directory, const Entry& entry) const {
  files_->make_directories(directory, directory_mode());
  files_->write_new(directory / code_file(entry.manifest.code_kind), entry.code, file_mode());
  files_->write_new(directory / "source.cu", entry.source, file_mode());
  files_->write_new(directory / "manifest.json", to_json(entry.manifest), file_mode());
  files_->sync_directory(directory);
}

void Store::publish(const Entry& entry) const {
  const std::string& name = entry.manifest.name;
  const Path target = entry_path(name);
  if (access_ != Access::kReadWrite) {
    throw Error(CAKE_STATUS_CACHE, fmt::format("{} is a read-only layer; nothing is published there", root_.string()));
  }
  check_bytes("the code", entry.code, entry.manifest.code_bytes, entry.manifest.code_checksum);
  const Path temporaries = root_ / kVersionFolder / kTemporaries;
  const Path temporary = temporaries / fmt::format("{}.{}", name, unique_suffix());
  try {
    if (const std::string why = distrust(name); !why.empty()) throw Error(CAKE_STATUS_CACHE, why);
    files_->make_directories(temporaries, directory_mode());
    files_->make_directories(target.parent_path(), directory_mode());
    write_entry(temporary, entry);
    if (files_->rename_directory(temporary, target) == RenameResult::kTargetExists) {
      const Request same{name, entry.manifest.digest, entry.manifest.target, entry.manifest.abi_version};
      // load() sets a damaged one aside, which makes room for ours. Whoever is quicker than our second try has a sound
      // one.
      if (!load(same)) (void)files_->rename_directory(temporary, target);
    }
    files_->sync_directory(target.parent_path());
    files_->remove_tree(temporary);
  } catch (const Error& error) {
    try {
      files_->remove_tree(temporary);
    } catch (const Error& second) {
      log_->debug("{}", second.what());  // swept when it is old
    }
    throw Error(CAKE_STATUS_CACHE,
                fmt::format("{} is not kept in the cache {}: {}. Free space there, make it writable, or "
                            "set CAKEJIT_CACHE_DIR to another directory.",
                            name, root_.string(), error.what()));
  }
  sweep_temporaries();
}

void Store::set_aside(const std::string& name) const {
  const Path quarantine = root_ / kVersionFolder / kQuarantine;
  try {
    files_->make_directories(quarantine, directory_mode());
    const auto kept = files_->list(quarantine);
    if (kept.size() >= kMaxQuarantined) files_->remove_tree(quarantine / kept.front());
    const Path source = entry_path(name);
    const Path target = quarantine / fmt::format("{:012}.{}.{}", now_unix_s(), name, unique_suffix());
    if (files_->rename_directory(source, target) == RenameResult::kTargetExists) files_->remove_tree(source);
  } catch (const Error& error) {
    log_->warn("could not set the damaged entry {} aside: {}", name, error.what());
  }
}

void Store::sweep_temporaries() const {
  const Path temporaries = root_ / kVersionFolder / kTemporaries;
  try {
    for (const std::string& name : files_->list(temporaries)) {
      const auto status = files_->status(temporaries / name);
      if (status && now_unix_s() - status->modified_unix_s > kStaleAfterSeconds)
        files_->remove_tree(temporaries / name);
    }
  } catch (const Error& error) {
    log_->debug("could not sweep {}: {}", temporaries.string(), error.what());
  }
}

std::vector<Manifest> Store::list(std::vector<Damage>* damaged_entries, bool verify_code) const {
  std::vector<Manifest> manifests;
  const Path top = root_ / kVersionFolder;
  for (const std::string& shard : files_->list(top)) {
    if (shard.size() != 2) continue;
    for (const std::string& name : files_->list(top / shard)) {
      const Path path = top / shard / name;
      try {
        if (verify_code) {
          if (const std::string why = distrust(name); !why.empty()) damaged(why);
          manifests.push_back(read_verified(name, true).manifest);
          continue;
        }
        Manifest manifest =
            parse_manifest(required(files_->read(path / "manifest.json", kMaxManifestBytes), "manifest.json"));
        if (manifest.name != name) damaged(fmt::format("its manifest is that of {}", manifest.name));
        manifests.push_back(std::move(manifest));
      } catch (const Error& error) {
        if (damaged_entries != nullptr) damaged_entries->push_back({path, error.what()});
      }
    }
  }
  std::ranges::sort(manifests, {}, &Manifest::name);
  return manifests;
}

std::optional<Entry> Store::read(const std::string& name) const {
  if (!files_->status(entry_path(name))) return std::nullopt;
  try {
    if (const std::string why = distrust(name); !why.empty()) damaged(why);
    return read_verified(name, true);
  } catch (const Error& error) {
    throw error.with_context(entry_path(name).string());
  }
}

bool Store::remove(const std::string& name) const {
  const Path path = entry_path(name);
  if (!files_->status(path)) return false;
  // Renamed first, so that no reader sees half an entry.
  const Path temporary = root_ / kVersionFolder / kTemporaries / fmt::format("{}.{}", name, unique_suffix());
  files_->make_directories(temporary.parent_path(), directory_mode());
  (void)files_->rename_directory(path, temporary);
  files_->remove_tree(temporary);
  return true;
}

}  // namespace cakejit::cache
