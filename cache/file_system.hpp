// All file access of the cache. One interface, so that tests can put a failing file system in its place.
// Every function throws Error(CACHE) with the path, the system's reason and what was being done, unless it says
// otherwise.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cakejit::cache {

using Path = std::filesystem::path;

struct FileStatus {
  enum class Kind { kRegular, kDirectory, kOther } kind = Kind::kOther;  // a symbolic link is kOther
  mode_t permissions = 0;                                                // the lower 12 bits
  uid_t owner = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_unix_s = 0;
};

enum class RenameResult { kRenamed, kTargetExists };

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Of the path itself, never of what a symbolic link points to; nullopt when nothing is there.
  [[nodiscard]] virtual std::optional<FileStatus> status(const Path& path) const = 0;

  // A regular file of at most `max_bytes`, not reached through a symbolic link; nullopt when nothing is there.
  [[nodiscard]] virtual std::optional<std::string> read(const Path& path, std::size_t max_bytes) const = 0;

  // Names in a directory, sorted; empty when it does not exist.
  [[nodiscard]] virtual std::vector<std::string> list(const Path& directory) const = 0;

  // Makes the directory and its parents where missing. Existing ones are left as they are.
  virtual void make_directories(const Path& directory, mode_t permissions) = 0;

  // A new file, written and synced. Fails if the name exists.
  virtual void write_new(const Path& path, std::string_view bytes, mode_t permissions) = 0;

  virtual void sync_directory(const Path& directory) = 0;

  // Renames a directory; the target must not exist, or be empty.
  virtual RenameResult rename_directory(const Path& from, const Path& to) = 0;

  // Removes a directory and all in it; symbolic links are removed, not followed. Nothing there is no error.
  virtual void remove_tree(const Path& directory) = 0;
};

// The process' file system. Stateless and thread-safe.
std::shared_ptr<FileSystem> real_file_system();

}  // namespace cakejit::cache
