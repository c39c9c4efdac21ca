#include "cache/file_system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "cakejit/error.hpp"

namespace cakejit::cache {
namespace {

[[noreturn]] void fail(const char* doing, const Path& path, int error) {
  throw Error(CAKE_STATUS_CACHE,
              fmt::format("cannot {} {}: {}", doing, path.string(), std::generic_category().message(error)));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  // Closes now and tells: some file systems report a failed write only here.
  [[nodiscard]] int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

FileStatus to_status(const struct stat& s) {
  FileStatus status;
  if (S_ISREG(s.st_mode)) status.kind = FileStatus::Kind::kRegular;
  if (S_ISDIR(s.st_mode)) status.kind = FileStatus::Kind::kDirectory;
  status.permissions = s.st_mode & 07777;
  status.owner = s.st_uid;
  status.bytes = static_cast<std::uint64_t>(s.st_size);
  status.modified_unix_s = s.st_mtime;
  return status;
}

bool is_absent(int error) {
  return error == ENOENT || error == ENOTDIR;
}

class RealFileSystem final : public FileSystem {
 public:
  std::optional<FileStatus> status(const Path& path) const override {
    struct stat s {};
    if (::lstat(path.c_str(), &s) == 0) return to_status(s);
    if (is_absent(errno)) return std::nullopt;
    fail("look at", path, errno);
  }

  std::optional<std::string> read(const Path& path, std::size_t max_bytes) const override {
    // Without O_NONBLOCK a planted FIFO would hang the reader for ever.
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) {
      if (is_absent(errno)) return std::nullopt;
      fail("open", path, errno);
    }
    struct stat s {};
    if (::fstat(file.get(), &s) != 0) fail("look at", path, errno);
    if (!S_ISREG(s.st_mode)) throw Error(CAKE_STATUS_CACHE, fmt::format("{} is not a regular file", path.string()));
    if (static_cast<std::uint64_t>(s.st_size) > max_bytes) {
      throw Error(CAKE_STATUS_CACHE,
                  fmt::format("{} has {} bytes; at most {} are allowed", path.string(), s.st_size, max_bytes));
    }
    std::string bytes(static_cast<std::size_t>(s.st_size), '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("read", path, errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
  }

  std::vector<std::string> list(const Path& directory) const override {
    const std::unique_ptr<DIR, int (*)(DIR*)> handle(::opendir(directory.c_str()), ::closedir);
    if (!handle) {
      if (is_absent(errno)) return {};
      fail("list", directory, errno);
    }
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* item = ::readdir(handle.get())) {
      const std::string_view name = item->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) fail("list", directory, errno);
    std::sort(names.begin(), names.end());
    return names;
  }

  void make_directories(const Path& directory, mode_t permissions) override {
    if (::mkdir(directory.c_str(), permissions) == 0) return;
    if (errno == ENOENT && directory.has_relative_path()) {
      make_directories(directory.parent_path(), permissions);
      if (::mkdir(directory.c_str(), permissions) == 0) return;
    }
    const int error = errno;
    std::error_code ignored;
    if (error == EEXIST && std::filesystem::is_directory(directory, ignored)) return;
    fail("make the directory", directory, error == EEXIST ? ENOTDIR : error);
  }

  void write_new(const Path& path, std::string_view bytes, mode_t permissions) override {
    FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions));
    if (file.get() < 0) fail("create", path, errno);
    while (!bytes.empty()) {
      const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail("write", path, errno);
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    if (::fsync(file.get()) != 0) fail("sync", path, errno);
    if (file.close() != 0) fail("close", path, errno);
  }

  void sync_directory(const Path& directory) override {
    const FileDescriptor handle(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (handle.get() < 0) fail("open", directory, errno);
    // Some network file systems can't sync a directory; the rename is then as durable as they make it.
    if (::fsync(handle.get()) != 0 && errno != EINVAL && errno != ENOTSUP) fail("sync", directory, errno);
  }

  RenameResult rename_directory(const Path& from, const Path& to) override {
    if (::rename(from.c_str(), to.c_str()) == 0) return RenameResult::kRenamed;
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) return RenameResult::kTargetExists;
    fail("rename to", to, errno);
  }

  void remove_tree(const Path& directory) override {
    std::error_code error;
    std::filesystem::remove_all(directory, error);
    if (error) fail("remove", directory, error.value());
  }
};

}  // namespace

std::shared_ptr<FileSystem> real_file_system() {
  static const auto kReal = std::make_shared<RealFileSystem>();
  return kReal;
}

}  // namespace cakejit::cache
