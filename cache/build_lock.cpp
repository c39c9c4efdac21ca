#include "cache/build_lock.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <thread>

#include "cache/heartbeat_lock.hpp"
#include "cache/lock_keys.hpp"
#include "cache/temporary.hpp"

namespace cakejit::cache {
namespace {

using Clock = std::chrono::steady_clock;

std::string host_name() {
  std::array<char, 65> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "an unknown host";
}

// v1/lock holds, beside the locks themselves, a line per holder, for people and for the message of who waits. Two libraries that
// share a slot overwrite each other's; the digest tells.
constexpr std::size_t kSlotBytes = 128;
constexpr std::uint64_t kSlots = 1024;

std::uint64_t slot_offset(const std::string& library) {
  return library_key(library) % kSlots * kSlotBytes;
}

std::string holder_line(const std::string& library) {
  std::string line = fmt::format("{} process {} on {}", digest_in(library), ::getpid(), host_name());
  line.resize(kSlotBytes - 1, ' ');
  return line + "\n";
}

// "process 123 on node7", or "another process".
std::string holder_of(const FileSystem& files, const Layout& layout, const std::string& library) {
  const auto text = files.read(layout.locks(), kSlots * kSlotBytes);
  const std::uint64_t offset = slot_offset(library);
  if (!text || text->size() < offset + kSlotBytes) return "another process";
  const std::string line = text->substr(offset, kSlotBytes - 1);
  if (!line.starts_with(digest_in(library))) return "another process";
  const std::string holder = line.substr(33);
  return holder.substr(0, holder.find_last_not_of(' ') + 1);
}

struct Attempt {
  LockKind kind = LockKind::kNone;
  std::unique_ptr<HeldLock> held;
};

class Waiter {
 public:
  Waiter(std::shared_ptr<FileSystem> files, const Layout& layout, const std::string& library, const LockTiming& timing)
      : files_(std::move(files)), layout_(layout), library_(library), timing_(timing) {}

  Attempt try_once() {
    if (!heartbeat_) {
      try {
        auto held = files_->try_lock(layout_.locks(), library_key(library_), layout_.file_mode());
        if (held) files_->overwrite(layout_.locks(), slot_offset(library_), holder_line(library_), layout_.file_mode());
        return {LockKind::kByteRange, std::move(held)};
      } catch (const LocksUnsupported&) {
        heartbeat_.emplace(files_, layout_, library_, host_name(), timing_);
      }
    }
    return {LockKind::kHeartbeat, heartbeat_->try_once()};
  }

  [[nodiscard]] std::string holder() const {
    try {
      return heartbeat_ ? heartbeat_->holder() : holder_of(*files_, layout_, library_);
    } catch (const Error&) {
      return "another process";
    }
  }

 private:
  std::shared_ptr<FileSystem> files_;
  const Layout& layout_;
  const std::string& library_;
  const LockTiming& timing_;
  std::optional<HeartbeatWaiter> heartbeat_;
};

}  // namespace

const char* label(LockKind kind) {
  switch (kind) {
    case LockKind::kByteRange: return "byte-range locks";
    case LockKind::kHeartbeat: return "heartbeat files (this file system has no byte-range locks)";
    case LockKind::kNone: break;
  }
  return "none";
}

BuildLock::BuildLock(std::shared_ptr<FileSystem> files, const Layout& layout, const std::string& library,
                     const std::function<bool()>& is_done, const std::shared_ptr<spdlog::logger>& log,
                     const LockTiming& timing) {
  const auto begin = Clock::now();
  bool announced = false;
  try {
    files->make_directories(layout.version(), layout.directory_mode());
    Waiter waiter(std::move(files), layout, library, timing);
    for (;;) {
      Attempt attempt = waiter.try_once();
      kind_ = attempt.kind;
      held_ = std::move(attempt.held);
      // Also when the lock is ours: its last holder may have just finished.
      if (is_done()) {
        outcome_ = Outcome::kDone;
        held_.reset();
        return;
      }
      if (held_) {
        outcome_ = Outcome::kHeld;
        return;
      }
      const auto waited = Clock::now() - begin;
      if (waited > timing.give_up) {
        log->warn("{} has been building {} for more than {} s; building it here too", waiter.holder(), library,
                  std::chrono::duration_cast<std::chrono::seconds>(waited).count());
        return;
      }
      if (!announced && waited > timing.announce) {
        announced = true;
        log->warn("waiting for {}, which is building {} (lock: {})", waiter.holder(), library, label(kind_));
      }
      std::this_thread::sleep_for(timing.poll);
    }
  } catch (const Error& error) {
    log->debug("no build lock for {}: {}", library, error.what());
  }
}

BuildLock::~BuildLock() = default;

LockKind probe_locks(FileSystem& files, const Layout& layout) {
  files.make_directories(layout.version(), layout.directory_mode());
  try {
    (void)files.try_lock(layout.locks(), hashed_key("probe"), layout.file_mode());
    return LockKind::kByteRange;
  } catch (const LocksUnsupported&) {
    return LockKind::kHeartbeat;
  }
}

}  // namespace cakejit::cache
