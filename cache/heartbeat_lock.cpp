#include "cache/heartbeat_lock.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "cache/build_lock.hpp"
#include "cache/temporary.hpp"

namespace cakejit::cache {
namespace {

constexpr std::size_t kMaxTokenBytes = 4096;

class HeartbeatLock final : public HeldLock {
 public:
  HeartbeatLock(std::shared_ptr<FileSystem> files, Path path, std::string token, std::chrono::milliseconds interval)
      : files_(std::move(files)), path_(std::move(path)), token_(std::move(token)), beat_([this, interval](
                                                                                            std::stop_token stop) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any wake;
          while (!wake.wait_for(lock, stop, interval, [] { return false; }) && !stop.stop_requested()) touch();
        }) {}

  ~HeartbeatLock() override {
    beat_.request_stop();
    beat_.join();
    try {
      // Not if somebody has taken it over.
      if (files_->read(path_, kMaxTokenBytes) == token_) files_->remove_tree(path_);
    } catch (const Error&) {
      // Without a heartbeat it is taken over in time.
    }
  }

 private:
  void touch() {
    try {
      files_->touch(path_);
    } catch (const Error&) {
      // Taken over, or the folder is gone: the build goes on all the same.
    }
  }

  std::shared_ptr<FileSystem> files_;
  Path path_;
  std::string token_;
  std::jthread beat_;
};

}  // namespace

HeartbeatWaiter::HeartbeatWaiter(std::shared_ptr<FileSystem> files, const Layout& layout, const std::string& library,
                                 const std::string& host, const LockTiming& timing)
    : files_(std::move(files)),
      layout_(layout),
      path_(layout.heartbeats() / library),
      token_(fmt::format("process {} on {}\n{:016x}\n", ::getpid(), host, std::random_device{}())),
      timing_(timing) {
  files_->make_directories(layout.heartbeats(), layout.directory_mode());
}

std::unique_ptr<HeldLock> HeartbeatWaiter::try_once() {
  if (is_presumed_dead()) {
    const Temporary grave(*files_, layout_, "heartbeat");
    try {
      (void)files_->rename_directory(path_, grave.path());
    } catch (const Error&) {
      // A rename has one winner; the loser finds nothing left to rename.
    }
    seen_.reset();
  }
  if (!files_->create(path_, token_, layout_.file_mode())) return nullptr;
  return std::make_unique<HeartbeatLock>(files_, path_, token_, timing_.heartbeat);
}

bool HeartbeatWaiter::is_presumed_dead() {
  const auto now = std::chrono::steady_clock::now();
  const auto status = files_->status(path_);
  if (!status) {
    seen_.reset();
    return false;
  }
  if (!seen_ || seen_->identity != status->identity || seen_->modified_unix_ns != status->modified_unix_ns) {
    seen_ = status;
    seen_since_ = now;
    return false;
  }
  return now - seen_since_ > timing_.presumed_dead;
}

std::string HeartbeatWaiter::holder() const {
  const auto token = files_->read(path_, kMaxTokenBytes);
  return token ? token->substr(0, token->find('\n')) : "another process";
}

}  // namespace cakejit::cache
