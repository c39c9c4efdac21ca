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

#include "cakejit/error.hpp"

namespace cakejit::cache {

using Path = std::filesystem::path;

// This process or the machine lacks descriptors or memory now. Says nothing about the file.
class ShortageError : public Error {
 public:
  using Error::Error;
};

// The file system has no byte-range locks.
class LocksUnsupported : public Error {
 public:
  using Error::Error;
};

// One file or directory, whatever its name is now.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

struct FileStatus {
  enum class Kind { kRegular, kDirectory, kOther } kind = Kind::kOther;  // a symbolic link is kOther
  FileIdentity identity;
  mode_t permissions = 0;  // the lower 12 bits
  uid_t owner = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_unix_s = 0;
  std::int64_t modified_unix_ns = 0;
};

enum class RenameResult { kRenamed, kTargetExists };

// An open directory: stays the same one whatever is renamed or put in its place meanwhile. Names are single components.
class Directory {
 public:
  virtual ~Directory() = default;
  [[nodiscard]] virtual FileStatus status() const = 0;
  // A directory in this one, not reached through a symbolic link; nullptr when nothing is there.
  [[nodiscard]] virtual std::unique_ptr<Directory> open(const std::string& name) const = 0;
  // A regular file of at most `max_bytes`, not reached through a symbolic link; nullopt when nothing is there.
  [[nodiscard]] virtual std::optional<std::string> read(const std::string& name, std::size_t max_bytes) const = 0;
  // Adds bytes to the end of a file, made if it is missing. Not synced.
  virtual void append(const std::string& name, std::string_view bytes, mode_t permissions) const = 0;
};

// A lock that is held until this is destroyed or the process dies.
class HeldLock {
 public:
  virtual ~HeldLock() = default;
};

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

  // Removes a file, or a directory and all in it; symbolic links are removed, not followed. Nothing there is no error.
  virtual void remove_tree(const Path& path) = 0;

  // nullptr when nothing is there. A symbolic link is followed: below an open directory none is.
  [[nodiscard]] virtual std::unique_ptr<Directory> open_directory(const Path& path) const = 0;

  // A new file, not synced; false when the name is taken.
  [[nodiscard]] virtual bool create(const Path& path, std::string_view bytes, mode_t permissions) = 0;

  // Puts `bytes` over the file's at `offset`; makes the file if it is missing. Not synced, so for small records only.
  virtual void overwrite(const Path& path, std::uint64_t offset, std::string_view bytes, mode_t permissions) = 0;

  // Sets the modification time to now.
  virtual void touch(const Path& path) = 0;

  // Locks byte `key` of a file (made if it is missing) against every other holder, in this process too; nullptr when it
  // is held. Throws LocksUnsupported where the file system has no such locks.
  [[nodiscard]] virtual std::unique_ptr<HeldLock> try_lock(const Path& file, std::uint64_t key, mode_t permissions) = 0;
};

// The process' file system. Stateless and thread-safe.
std::shared_ptr<FileSystem> real_file_system();

}  // namespace cakejit::cache
