// One launch of a kernel: its blocks one after the other, the threads of a block as fibers in a random order. The first
// violation ends it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/emulation/fiber.hpp"
#include "tests/emulation/kernel.hpp"

namespace cakejit::emulation {

// splitmix64
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t roll() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(roll() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

enum class WarpFunction { kBallot, kAll, kAny, kShuffle };

// A call of a __..._sync function by one lane. Lanes meet if all but value and source_lane agree.
struct WarpCall {
  WarpFunction function;
  unsigned mask;
  int line;
  std::uint64_t value;
  unsigned source_lane;
};

struct AsyncCopy {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes;
  unsigned group;
  bool arrived;
};

struct Thread {
  enum class State { kReady, kAtBarrier, kInWarpFunction, kLeft };

  Fiber fiber;
  unsigned index = 0;  // in its block
  State state = State::kReady;
  int barrier_line = 0;
  WarpCall call{};
  std::uint64_t call_result = 0;
  std::vector<AsyncCopy> copies;  // not waited for
  unsigned group = 0;             // of the copies to come
  bool dependency_waited = false;
};

// What outlives a launch. Time never stands still, so that accesses of different launches are told apart.
struct DeviceState {
  GlobalMemory memory;
  std::vector<Cell> shared;
  std::vector<Thread> threads;  // their stacks are used again
  Time now = 1;
  Time last_grid_began = 1;
};

struct LaunchShape {
  unsigned blocks;
  unsigned threads;
  bool programmatic;  // may start before the grid before has completed
};

class Grid {
 public:
  Grid(DeviceState& device, const Kernel& kernel, const LaunchShape& shape, const void* params, std::uint64_t seed);
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  // "", or the violation.
  std::string run();

  // The grid that runs now, nullptr if none does. The functions below are called by its threads.
  static Grid* running();

  [[nodiscard]] unsigned block() const { return block_; }
  [[nodiscard]] unsigned thread() const { return current_->index; }
  [[nodiscard]] const LaunchShape& shape() const { return shape_; }

  void access(const void* address, std::size_t bytes, Use use);
  void barrier(int line);
  std::uint64_t warp(const WarpCall& call);
  void begin_copy(void* shared, const void* global, std::size_t bytes);
  void commit_copies();
  void wait_for_copies(unsigned pending_groups);
  void wait_for_dependency() { current_->dependency_waited = true; }

  // Ends the launch with `what` the current thread has done.
  [[noreturn]] void fail(const std::string& what);

 private:
  void run_block(unsigned block);
  void run_thread();
  void leave();
  void pause(Thread::State state);
  void make_ready(Thread& thread);
  [[nodiscard]] std::string describe_stuck() const;

  void meet(std::span<Thread> warp, unsigned mask);
  void arrive(AsyncCopy& copy);
  [[nodiscard]] Actor actor() const;
  [[nodiscard]] bool in_shared(const void* address) const;
  [[nodiscard]] Cell* cells(const void* address, std::size_t bytes, Use use);
  [[nodiscard]] std::string describe(const void* address) const;
  void check_initialised(const void* address, const Cell* cells, std::size_t bytes);

  DeviceState& device_;
  const Kernel& kernel_;
  LaunchShape shape_;
  std::vector<std::byte> params_;
  std::vector<Operand> operands_;
  Dice dice_;
  std::uint64_t garbage_;

  Time grid_began_ = 0;
  Time block_began_ = 0;
  Time previous_grid_began_ = 0;
  unsigned block_ = 0;
  Thread* current_ = nullptr;
  std::vector<Thread*> ready_;
  unsigned at_barrier_ = 0;
  unsigned left_ = 0;
  std::string violation_;
};

}  // namespace cakejit::emulation
