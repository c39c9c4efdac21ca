#include "cache/store.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/entry_files.hpp"
#include "cache/eviction.hpp"
#include "cache/temporary.hpp"
#include "cakejit/error.hpp"

namespace cakejit::cache {
namespace {

constexpr std::size_t kMaxQuarantined = 16;
// An entry that is replaced while it is read is read again, but not for ever.
constexpr int kMaxReads = 3;

void check_identity(const Request& request, const Manifest& manifest) {
  const auto same = [](const char* field, const auto& has, const auto& wanted) {
    if (has != wanted) throw Error(CAKE_STATUS_CACHE, fmt::format("its {} is {}, not {}", field, has, wanted));
  };
  same("digest", manifest.digest, request.digest);
  same("target", manifest.target, request.target);
  same("ABI version", manifest.abi_version, request.abi_version);
  same("code", std::string_view(code_file(manifest.code_kind)), std::string_view(code_file(request.code_kind)));
}

// Before anything is read, so that whoever evicts sees it. A folder that can't be written is no reason not to read.
void note_use(const Directory& entry, const Layout& layout) {
  try {
    entry.append(kUsesFile, ".", layout.file_mode());
  } catch (const Error&) {
  }
}

}  // namespace

Store::Store(Path root, Access access, std::shared_ptr<spdlog::logger> log, std::shared_ptr<FileSystem> files,
             const StoreOptions& options)
    : layout_{std::move(root), options.sharing},
      access_(access),
      log_(std::move(log)),
      files_(std::move(files)),
      caps_(options.caps),
      counters_(files_, layout_, log_) {}

Path Store::entry_path(const std::string& name) const {
  if (!is_library_name(name)) {
    throw Error(CAKE_STATUS_CACHE, fmt::format("\"{}\" is no library name; it must be cake_causal_conv1d_det_train_<32 "
                                               "hex digits>[_kcp]",
                                               name));
  }
  return layout_.entry(name);
}

void Store::require_writable() const {
  if (access_ == Access::kReadWrite) return;
  throw Error(CAKE_STATUS_CACHE,
              fmt::format("{} is a read-only layer; nothing is changed there", layout_.root.string()));
}

void Store::warn_once(const std::string& message) const {
  log_->log(warned_->exchange(true) ? spdlog::level::debug : spdlog::level::warn, message);
}

std::optional<Entry> Store::load(const Request& request) const {
  if (!is_library_name(request.name)) return std::nullopt;
  for (int reads = 1;; ++reads) {
    std::optional<FileIdentity> seen;
    try {
      const auto folder = open_entry(*files_, layout_, request.name);
      if (!folder) return std::nullopt;
      seen = folder->status().identity;
      if (access_ == Access::kReadWrite) note_use(*folder, layout_);
      Entry entry = read_entry(*folder, request.name, false);
      check_identity(request, entry.manifest);
      if (request.check) request.check(entry);
      return entry;
    } catch (const ShortageError& error) {
      log_->warn("cache entry {} in {} could not be read now: {}", request.name, layout_.root.string(), error.what());
      return std::nullopt;
    } catch (const Unreachable& error) {
      // Of a writable directory the first publish says so.
      if (access_ == Access::kReadOnly) warn_once(error.what());
      return std::nullopt;
    } catch (const Distrusted& error) {
      warn_once(fmt::format("nothing is loaded from the cache {}: {}", layout_.root.string(), error.what()));
      return std::nullopt;
    } catch (const Error& error) {
      try {
        if (reads < kMaxReads && identity(request.name) != seen) continue;
      } catch (const Error&) {
        // Then it is as bad as it looked.
      }
      log_->warn("cache entry {} in {} is not usable: {}. It is rebuilt or taken from the next layer.", request.name,
                 layout_.root.string(), error.what());
      if (access_ == Access::kReadWrite) (void)try_set_aside(request.name, seen);
      return std::nullopt;
    }
  }
}

std::optional<FileIdentity> Store::identity(const std::string& name) const {
  const auto status = files_->status(entry_path(name));
  return status ? std::optional(status->identity) : std::nullopt;
}

void Store::publish(const Entry& entry, Existing existing) const {
  const std::string& name = entry.manifest.name;
  (void)entry_path(name);
  require_writable();
  require_consistent(entry);
  try {
    require_trusted(name);
    const Temporary temporary(*files_, layout_, name);
    write_entry(*files_, layout_, temporary.path(), entry);
    place(temporary.path(), entry, existing);
  } catch (const Error& error) {
    throw Error(CAKE_STATUS_CACHE,
                fmt::format("{} is not kept in the cache {}: {}. Free space there, make it writable, or "
                            "set CAKEJIT_CACHE_DIR to another directory.",
                            name, layout_.root.string(), error.what()));
  }
}

// Code would not be loaded from where others can write, so none is put there either.
void Store::require_trusted(const std::string& name) const {
  try {
    (void)open_entry(*files_, layout_, name);
  } catch (const Distrusted&) {
    throw;
  } catch (const Error&) {
    // An entry that is no folder is set aside in its turn; a root that can't be opened fails in what comes next.
  }
}

void Store::place(const Path& temporary, const Entry& entry, Existing existing) const {
  const Manifest& m = entry.manifest;
  const Path target = layout_.entry(m.name);
  files_->make_directories(target.parent_path(), layout_.directory_mode());
  bool placed = files_->rename_directory(temporary, target) == RenameResult::kRenamed;
  if (!placed && (existing == Existing::kReplace || !load({m.name, m.digest, m.target, m.abi_version, m.code_kind}))) {
    // Makes room; load() did already if the one there was damaged. Whoever is quicker than our second try has a sound
    // one.
    if (existing == Existing::kReplace) (void)remove(m.name);
    placed = files_->rename_directory(temporary, target) == RenameResult::kRenamed;
  }
  files_->sync_directory(target.parent_path());
  if (placed) {
    keep_below_caps(
        counters_.add({.builds = 1, .entries = 1, .bytes = static_cast<std::int64_t>(written_bytes(entry))}));
  }
}

void Store::keep_below_caps(const Counters& now) const {
  const bool is_over = (caps_.bytes != 0 && static_cast<std::uint64_t>(now.bytes) > caps_.bytes) ||
                       (caps_.entries != 0 && static_cast<std::uint64_t>(now.entries) > caps_.entries);
  if (!is_over) return;
  try {
    const Evicted evicted = evict(*this, caps_);
    log_->info("{}: evicted {} of {} entries, the least recently used ones", layout_.root.string(),
               evicted.names.size(), evicted.before.entries);
  } catch (const Error& error) {
    log_->debug("{}: nothing is evicted: {}", layout_.root.string(), error.what());
  }
}

bool Store::try_set_aside(const std::string& name, const std::optional<FileIdentity>& only) const {
  try {
    if (only && identity(name) != only) return false;
    quarantine(name);
    return true;
  } catch (const Error& error) {
    log_->warn("could not set the damaged entry {} aside: {}", name, error.what());
    return false;
  }
}

void Store::quarantine(const std::string& name) const {
  require_writable();
  const Path folder = layout_.quarantine();
  files_->make_directories(folder, layout_.directory_mode());
  auto kept = files_->list(folder);
  while (kept.size() >= kMaxQuarantined) {
    files_->remove_tree(folder / kept.front());
    kept.erase(kept.begin());
  }
  const Path source = entry_path(name);
  const auto bytes = static_cast<std::int64_t>(entry_usage(*files_, layout_, name).bytes);
  for (int attempt = 0;; ++attempt) {
    const Path target = folder / fmt::format("{:012}.{}.{}", now_unix_s(), name, attempt);
    if (files_->status(target)) continue;
    if (files_->rename_directory(source, target) == RenameResult::kRenamed) break;
  }
  counters_.add({.damaged = 1, .entries = -1, .bytes = -bytes});
}

void Store::sweep() const {
  if (access_ != Access::kReadWrite) return;
  try {
    sweep_temporaries(*files_, layout_, now_unix_s());
  } catch (const Error& error) {
    log_->debug("could not sweep {}: {}", layout_.temporaries().string(), error.what());
  }
}

std::vector<Manifest> Store::list(std::vector<Damage>* damaged, bool verify_code) const {
  std::vector<Manifest> manifests;
  for (const std::string& shard : files_->list(layout_.version())) {
    if (shard.size() != 2) continue;
    for (const std::string& name : files_->list(layout_.version() / shard)) {
      const Path path = layout_.version() / shard / name;
      try {
        if (!is_library_name(name) || shard_of(name) != shard) {
          throw Error(CAKE_STATUS_CACHE, "its name is not that of a library, or it lies in the wrong folder");
        }
        const auto folder = verify_code ? open_entry(*files_, layout_, name) : files_->open_directory(path);
        if (!folder) continue;
        manifests.push_back(verify_code ? read_entry(*folder, name, true).manifest : read_manifest(*folder, name));
      } catch (const Error& error) {
        if (damaged != nullptr && files_->status(path)) damaged->push_back({path, error.what()});
      }
    }
  }
  std::ranges::sort(manifests, {}, &Manifest::name);
  return manifests;
}

std::optional<Entry> Store::read(const std::string& name) const {
  const Path path = entry_path(name);
  try {
    const auto folder = open_entry(*files_, layout_, name);
    return folder ? std::optional(read_entry(*folder, name, true)) : std::nullopt;
  } catch (const Error& error) {
    throw error.with_context(path.string());
  }
}

bool Store::remove(const std::string& name) const {
  const Path path = entry_path(name);
  require_writable();
  const std::uint64_t bytes = entry_usage(*files_, layout_, name).bytes;
  if (!files_->status(path)) return false;
  // Renamed first, so that no reader sees half an entry.
  const Temporary temporary(*files_, layout_, name);
  if (files_->rename_directory(path, temporary.path()) != RenameResult::kRenamed) return false;
  counters_.add({.entries = -1, .bytes = -static_cast<std::int64_t>(bytes)});
  return true;
}

}  // namespace cakejit::cache
