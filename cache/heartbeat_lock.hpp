// A lock for file systems without locks: a file that its holder touches, and that a waiter takes over once it has not changed
// for a while. Two waiters that take over at the same moment may both end up building, which costs time and nothing
// else.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "cache/layout.hpp"

namespace cakejit::cache {

struct LockTiming;

class HeartbeatWaiter {
 public:
  HeartbeatWaiter(std::shared_ptr<FileSystem> files, const Layout& layout, const std::string& library,
                  const std::string& host, const LockTiming& timing);

  // The lock, or nullptr while it is held by somebody whose heart beats. Throws Error(CACHE).
  std::unique_ptr<HeldLock> try_once();

  // "process 123 on node7". Throws Error(CACHE).
  [[nodiscard]] std::string holder() const;

 private:
  [[nodiscard]] bool is_presumed_dead();

  std::shared_ptr<FileSystem> files_;
  Layout layout_;
  Path path_;
  std::string token_;  // what the file says while it is ours
  const LockTiming& timing_;
  // What was last seen there, and since when by this machine's clock: no two machines' clocks are compared.
  std::optional<FileStatus> seen_;
  std::chrono::steady_clock::time_point seen_since_;
};

}  // namespace cakejit::cache
