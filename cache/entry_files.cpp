#include "cache/entry_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "cakejit/error.hpp"

namespace cakejit::cache {
namespace {

[[noreturn]] void damaged(const std::string& what) {
  throw Error(CAKE_STATUS_CACHE, what);
}

// Code runs with the user's rights.
void require_trusted(const Directory& folder, const Path& path) {
  const FileStatus status = folder.status();
  if (status.owner != ::geteuid() && status.owner != 0) {
    throw Distrusted(CAKE_STATUS_CACHE, fmt::format("{} belongs to user {}, neither to this user ({}) nor to root",
                                                    path.string(), status.owner, ::geteuid()));
  }
  if ((status.permissions & 0022) != 0) {
    throw Distrusted(CAKE_STATUS_CACHE, fmt::format("{} can be written by others (mode {:04o}); remove that with chmod go-w",
                                                    path.string(), status.permissions));
  }
}

std::unique_ptr<Directory> open_root(const FileSystem& files, const Path& path) {
  try {
    return files.open_directory(path);
  } catch (const ShortageError&) {
    throw;
  } catch (const Error& error) {
    throw Unreachable(error.status(), error.what());
  }
}

// A folder of the cache itself: not a way to be led elsewhere.
std::unique_ptr<Directory> open_below(const Directory& parent, const std::string& name, const Path& path) {
  std::unique_ptr<Directory> folder;
  try {
    folder = parent.open(name);
  } catch (const ShortageError&) {
    throw;
  } catch (const Error& error) {
    throw Distrusted(CAKE_STATUS_CACHE, fmt::format("{} is no directory that can be opened ({})", path.string(), error.what()));
  }
  if (folder) require_trusted(*folder, path);
  return folder;
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

std::unique_ptr<Directory> open_entry(const FileSystem& files, const Layout& layout, const std::string& name) {
  const auto root = open_root(files, layout.root);
  if (!root) return nullptr;
  require_trusted(*root, layout.root);
  const auto version = open_below(*root, kVersionFolder, layout.version());
  if (!version) return nullptr;
  const std::string shard = shard_of(name);
  const auto parent = open_below(*version, shard, layout.version() / shard);
  if (!parent) return nullptr;
  auto entry = parent->open(name);
  if (entry) require_trusted(*entry, layout.entry(name));
  return entry;
}

Manifest read_manifest(const Directory& folder, const std::string& name) {
  const std::string text = required(folder.read(kManifestFile, kMaxManifestBytes), kManifestFile);
  Manifest manifest = parse_manifest(unseal_manifest(text));
  if (manifest.name != name) damaged(fmt::format("its manifest is that of {}", manifest.name));
  if (manifest.digest != digest_in(name)) damaged(fmt::format("its manifest's digest is {}", manifest.digest));
  return manifest;
}

Entry read_entry(const Directory& folder, const std::string& name, bool with_source) {
  Entry entry;
  entry.manifest = read_manifest(folder, name);
  const Manifest& m = entry.manifest;
  if (m.code_bytes == 0) damaged("its code is empty");
  const char* file = code_file(m.code_kind);
  entry.code = required(folder.read(file, kMaxCodeBytes), file);
  check_bytes(file, entry.code, m.code_bytes, m.code_checksum);
  if (with_source) {
    entry.source = required(folder.read(kSourceFile, kMaxSourceBytes), kSourceFile);
    check_bytes(kSourceFile, entry.source, m.source_bytes, m.source_checksum);
  }
  return entry;
}

void require_consistent(const Entry& entry) {
  const Manifest& m = entry.manifest;
  (void)parse_manifest(to_json(m));
  if (m.code_bytes == 0) damaged("the code is empty");
  check_bytes("the code", entry.code, m.code_bytes, m.code_checksum);
  check_bytes("the source", entry.source, m.source_bytes, m.source_checksum);
}

void write_entry(FileSystem& files, const Layout& layout, const Path& path, const Entry& entry) {
  files.make_directories(path, layout.directory_mode());
  files.write_new(path / code_file(entry.manifest.code_kind), entry.code, layout.file_mode());
  files.write_new(path / kSourceFile, entry.source, layout.file_mode());
  files.write_new(path / kManifestFile, seal_manifest(to_json(entry.manifest)), layout.file_mode());
  files.sync_directory(path);
}

std::uint64_t written_bytes(const Entry& entry) {
  return entry.code.size() + entry.source.size() + seal_manifest(to_json(entry.manifest)).size();
}

}  // namespace cakejit::cache
