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
#include <utility>

#include "cakejit/error.hpp"

namespace cakejit::cache {
namespace {

[[noreturn]] void fail(const char* doing, const Path& path, int error) {
  const std::string what =
      fmt::format("cannot {} {}: {}", doing, path.string(), std::generic_category().message(error));
  if (error == EMFILE || error == ENFILE || error == ENOMEM) throw ShortageError(CAKE_STATUS_CACHE, what);
  throw Error(CAKE_STATUS_CACHE, what);
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
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
  status.identity = {s.st_dev, s.st_ino};
  if (S_ISREG(s.st_mode)) status.kind = FileStatus::Kind::kRegular;
  if (S_ISDIR(s.st_mode)) status.kind = FileStatus::Kind::kDirectory;
  status.permissions = s.st_mode & 07777;
  status.owner = s.st_uid;
  status.bytes = static_cast<std::uint64_t>(s.st_size);
  status.modified_unix_s = s.st_mtime;
  status.modified_unix_ns = std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec;
  return status;
}

bool is_absent(int error) {
  return error == ENOENT || error == ENOTDIR;
}

// Reads a regular file below `folder` (AT_FDCWD: anywhere). `shown` is its path for messages.
std::optional<std::string> read_at(int folder, const char* name, const Path& shown, std::size_t max_bytes) {
  // Without O_NONBLOCK a planted FIFO would hang the reader for ever.
  const FileDescriptor file(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    if (is_absent(errno)) return std::nullopt;
    fail("open", shown, errno);
  }
  struct stat s {};
  if (::fstat(file.get(), &s) != 0) fail("look at", shown, errno);
  if (!S_ISREG(s.st_mode)) throw Error(CAKE_STATUS_CACHE, fmt::format("{} is not a regular file", shown.string()));
  if (static_cast<std::uint64_t>(s.st_size) > max_bytes) {
    throw Error(CAKE_STATUS_CACHE,
                fmt::format("{} has {} bytes; at most {} are allowed", shown.string(), s.st_size, max_bytes));
  }
  std::string bytes(static_cast<std::size_t>(s.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", shown, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

void write_all(const FileDescriptor& file, std::string_view bytes, const Path& shown) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write", shown, errno);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

class RealDirectory final : public Directory {
 public:
  RealDirectory(FileDescriptor handle, Path path) : handle_(std::move(handle)), path_(std::move(path)) {}

  FileStatus status() const override {
    struct stat s {};
    if (::fstat(handle_.get(), &s) != 0) fail("look at", path_, errno);
    return to_status(s);
  }

  std::unique_ptr<Directory> open(const std::string& name) const override {
    return open_at(handle_.get(), name.c_str(), path_ / name, O_NOFOLLOW);
  }

  std::optional<std::string> read(const std::string& name, std::size_t max_bytes) const override {
    return read_at(handle_.get(), name.c_str(), path_ / name, max_bytes);
  }

  void append(const std::string& name, std::string_view bytes, mode_t permissions) const override {
    const FileDescriptor file(::openat(handle_.get(), name.c_str(),
                                       O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                                       permissions));
    if (file.get() < 0) fail("open", path_ / name, errno);
    write_all(file, bytes, path_ / name);
  }

  static std::unique_ptr<Directory> open_at(int folder, const char* name, const Path& shown, int flags) {
    FileDescriptor handle(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
    if (handle.get() >= 0) return std::make_unique<RealDirectory>(std::move(handle), shown);
    if (errno == ENOENT) return nullptr;
    fail("open the directory", shown, errno);
  }

 private:
  FileDescriptor handle_;
  Path path_;
};

// An open file description's lock goes with its descriptor, and so with the process; unlike the older kind it also
// excludes other threads, and isn't lost when another descriptor of the file is closed.
class RangeLock final : public HeldLock {
 public:
  explicit RangeLock(FileDescriptor handle) : handle_(std::move(handle)) {}

 private:
  FileDescriptor handle_;
};

class RealFileSystem final : public FileSystem {
 public:
  std::optional<FileStatus> status(const Path& path) const override {
    struct stat s {};
    if (::lstat(path.c_str(), &s) == 0) return to_status(s);
    if (is_absent(errno)) return std::nullopt;
    fail("look at", path, errno);
  }

  std::optional<std::string> read(const Path& path, std::size_t max_bytes) const override {
    return read_at(AT_FDCWD, path.c_str(), path, max_bytes);
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
    write_all(file, bytes, path);
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

  void remove_tree(const Path& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error && !is_absent(error.value())) fail("remove", path, error.value());
  }

  std::unique_ptr<Directory> open_directory(const Path& path) const override {
    return RealDirectory::open_at(AT_FDCWD, path.c_str(), path, 0);
  }

  bool create(const Path& path, std::string_view bytes, mode_t permissions) override {
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions));
    if (file.get() < 0 && errno == EEXIST) return false;
    if (file.get() < 0) fail("create", path, errno);
    write_all(file, bytes, path);
    return true;
  }

  void overwrite(const Path& path, std::uint64_t offset, std::string_view bytes, mode_t permissions) override {
    const FileDescriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, permissions));
    if (file.get() < 0) fail("open", path, errno);
    if (::lseek(file.get(), static_cast<off_t>(offset), SEEK_SET) < 0) fail("seek in", path, errno);
    write_all(file, bytes, path);
  }

  void touch(const Path& path) override {
    if (::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) != 0) fail("touch", path, errno);
  }

  std::unique_ptr<HeldLock> try_lock(const Path& path, std::uint64_t key, mode_t permissions) override {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, permissions));
    if (file.get() < 0) fail("open", path, errno);
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = static_cast<off_t>(key & (~std::uint64_t{0} >> 2));
    range.l_len = 1;
    if (::fcntl(file.get(), F_OFD_SETLK, &range) == 0) return std::make_unique<RangeLock>(std::move(file));
    if (errno == EAGAIN || errno == EACCES) return nullptr;
    if (errno == ENOLCK || errno == ENOSYS || errno == EINVAL || errno == EOPNOTSUPP) {
      throw LocksUnsupported(CAKE_STATUS_CACHE, fmt::format("the file system of {} has no locks: {}", path.string(),
                                                            std::generic_category().message(errno)));
    }
    fail("lock", path, errno);
  }
};

}  // namespace

std::shared_ptr<FileSystem> real_file_system() {
  static const auto kReal = std::make_shared<RealFileSystem>();
  return kReal;
}

}  // namespace cakejit::cache
