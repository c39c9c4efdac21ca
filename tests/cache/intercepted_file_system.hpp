// The real file system with a hook before every operation, which may throw in its place, wait, or count.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "cache/file_system.hpp"

namespace cakejit::test {

// Called with the operation's name, e.g. "write_new", and its path.
using FileHook = std::function<void(std::string_view operation, const cache::Path& path)>;

class InterceptedDirectory final : public cache::Directory {
 public:
  InterceptedDirectory(std::unique_ptr<cache::Directory> real, FileHook hook, cache::Path path)
      : real_(std::move(real)), hook_(std::move(hook)), path_(std::move(path)) {}

  [[nodiscard]] cache::FileStatus status() const override {
    hook_("status", path_);
    return real_->status();
  }
  [[nodiscard]] std::unique_ptr<cache::Directory> open(const std::string& name) const override {
    hook_("open_directory", path_ / name);
    auto folder = real_->open(name);
    return folder ? std::make_unique<InterceptedDirectory>(std::move(folder), hook_, path_ / name) : nullptr;
  }
  [[nodiscard]] std::optional<std::string> read(const std::string& name, std::size_t max_bytes) const override {
    hook_("read", path_ / name);
    return real_->read(name, max_bytes);
  }
  void append(const std::string& name, std::string_view bytes, mode_t permissions) const override {
    hook_("append", path_ / name);
    real_->append(name, bytes, permissions);
  }

 private:
  std::unique_ptr<cache::Directory> real_;
  FileHook hook_;
  cache::Path path_;
};

class InterceptedFileSystem final : public cache::FileSystem {
 public:
  using Path = cache::Path;

  explicit InterceptedFileSystem(FileHook hook) : hook_(std::move(hook)) {}

  [[nodiscard]] std::optional<cache::FileStatus> status(const Path& path) const override {
    hook_("status", path);
    return real_->status(path);
  }
  [[nodiscard]] std::optional<std::string> read(const Path& path, std::size_t max_bytes) const override {
    hook_("read", path);
    return real_->read(path, max_bytes);
  }
  [[nodiscard]] std::vector<std::string> list(const Path& directory) const override {
    hook_("list", directory);
    return real_->list(directory);
  }
  void make_directories(const Path& directory, mode_t permissions) override {
    hook_("make_directories", directory);
    real_->make_directories(directory, permissions);
  }
  void write_new(const Path& path, std::string_view bytes, mode_t permissions) override {
    hook_("write_new", path);
    real_->write_new(path, bytes, permissions);
  }
  void sync_directory(const Path& directory) override {
    hook_("sync_directory", directory);
    real_->sync_directory(directory);
  }
  cache::RenameResult rename_directory(const Path& from, const Path& to) override {
    hook_("rename_directory", to);
    return real_->rename_directory(from, to);
  }
  void remove_tree(const Path& path) override {
    hook_("remove_tree", path);
    real_->remove_tree(path);
  }
  [[nodiscard]] std::unique_ptr<cache::Directory> open_directory(const Path& path) const override {
    hook_("open_directory", path);
    auto folder = real_->open_directory(path);
    return folder ? std::make_unique<InterceptedDirectory>(std::move(folder), hook_, path) : nullptr;
  }
  [[nodiscard]] bool create(const Path& path, std::string_view bytes, mode_t permissions) override {
    hook_("create", path);
    return real_->create(path, bytes, permissions);
  }
  void overwrite(const Path& path, std::uint64_t offset, std::string_view bytes, mode_t permissions) override {
    hook_("overwrite", path);
    real_->overwrite(path, offset, bytes, permissions);
  }
  void touch(const Path& path) override {
    hook_("touch", path);
    real_->touch(path);
  }
  [[nodiscard]] std::unique_ptr<cache::HeldLock> try_lock(const Path& file, std::uint64_t key,
                                                          mode_t permissions) override {
    hook_("try_lock", file);
    return real_->try_lock(file, key, permissions);
  }

 private:
  std::shared_ptr<cache::FileSystem> real_ = cache::real_file_system();
  FileHook hook_;
};

}  // namespace cakejit::test
