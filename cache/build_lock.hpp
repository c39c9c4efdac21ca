// One build of a library at a time, over threads, processes and machines that share a cache directory. The lock only saves
// work: publishing is atomic without it, readers never take it, and a waiter never waits for ever.
#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "cache/layout.hpp"

namespace cakejit::cache {

struct LockTiming {
  using Milliseconds = std::chrono::milliseconds;
  Milliseconds poll{20};             // between two looks
  Milliseconds announce{3'000};      // then the log says on whom is waited
  Milliseconds give_up{120'000};     // then the waiter builds for itself
  Milliseconds heartbeat{1'000};     // of the holder, where the file system has no locks
  Milliseconds presumed_dead{10'000};  // without a heartbeat
};

enum class LockKind {
  kNone,       // the folder can't be written: every process builds for itself
  kByteRange,  // v1/lock: goes with its holder
  kHeartbeat   // a file in v1/heartbeats, touched once a second by its holder
};

const char* label(LockKind kind);

class BuildLock {
 public:
  enum class Outcome {
    kHeld,     // this caller builds
    kDone,     // `is_done` said so: somebody else has built
    kNotHeld,  // build without: no lock can be had, or its holder takes too long
  };

  // Takes the lock of `library`, or returns as soon as `is_done` says that its holder's work has come to light; asked between two
  // looks at the lock. Never throws but std::bad_alloc.
  BuildLock(std::shared_ptr<FileSystem> files, const Layout& layout, const std::string& library,
            const std::function<bool()>& is_done, const std::shared_ptr<spdlog::logger>& log,
            const LockTiming& timing = {});
  ~BuildLock();
  BuildLock(const BuildLock&) = delete;
  BuildLock& operator=(const BuildLock&) = delete;

  [[nodiscard]] Outcome outcome() const { return outcome_; }
  [[nodiscard]] LockKind kind() const { return kind_; }

 private:
  Outcome outcome_ = Outcome::kNotHeld;
  LockKind kind_ = LockKind::kNone;
  std::unique_ptr<HeldLock> held_;
};

// Which kind of lock this folder offers now: makes and releases one. Throws Error(CACHE) where nothing can be written.
LockKind probe_locks(FileSystem& files, const Layout& layout);

}  // namespace cakejit::cache
