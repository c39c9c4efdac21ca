#include "tests/emulation/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

namespace cakejit::emulation {
namespace {

constexpr unsigned kWarp = 32;

Grid* running_grid = nullptr;

}  // namespace

Grid* Grid::running() {
  return running_grid;
}

Grid::Grid(DeviceState& device, const Kernel& kernel, const LaunchShape& shape, const void* params, std::uint64_t seed)
    : device_(device),
      kernel_(kernel),
      shape_(shape),
      params_(static_cast<const std::byte*>(params), static_cast<const std::byte*>(params) + kernel.code.params_bytes),
      operands_(kernel.operands(params)),
      dice_(seed),
      garbage_(dice_.roll()),
      previous_grid_began_(device.last_grid_began) {
  while (device_.threads.size() < shape.threads) device_.threads.emplace_back();
  device_.shared.resize(
      std::max(device_.shared.size(), static_cast<std::size_t>(kernel.code.shared_end - kernel.code.shared_begin)));
}

std::string Grid::run() {
  grid_began_ = ++device_.now;
  violation_ = device_.memory.begin_launch(operands_);
  std::vector<unsigned> order(shape_.blocks);
  std::iota(order.begin(), order.end(), 0u);
  running_grid = this;
  for (std::size_t left = order.size(); left > 0 && violation_.empty(); --left) {
    std::swap(order[dice_.below(left)], order[left - 1]);
    run_block(order[left - 1]);
  }
  running_grid = nullptr;
  const std::string missing = device_.memory.end_launch(operands_);
  if (violation_.empty()) violation_ = missing;
  device_.last_grid_began = grid_began_;
  return violation_.empty() ? "" : fmt::format("{}: {}", kernel_.code.symbol, violation_);
}

void Grid::run_block(unsigned block) {
  block_ = block;
  block_began_ = ++device_.now;
  at_barrier_ = left_ = 0;
  const auto shared_bytes = kernel_.code.shared_end - kernel_.code.shared_begin;
  std::fill_n(device_.shared.begin(), shared_bytes, Cell{.allowed = kRead | kWrite});
  ready_.clear();
  for (unsigned index = 0; index < shape_.threads; ++index) {
    Thread& thread = device_.threads[index];
    thread.index = index;
    thread.copies.clear();
    thread.group = 0;
    thread.dependency_waited = false;
    thread.fiber.prepare([] { running_grid->run_thread(); });
    make_ready(thread);
  }
  while (!ready_.empty() && violation_.empty()) {
    std::swap(ready_[dice_.below(ready_.size())], ready_.back());
    current_ = ready_.back();
    ready_.pop_back();
    current_->fiber.resume();
  }
  if (violation_.empty() && left_ != shape_.threads) violation_ = describe_stuck();
}

void Grid::run_thread() {
  kernel_.code.entry(params_.data());
  leave();
}

void Grid::leave() {
  if (!current_->copies.empty()) fail("leaves with asynchronous copies in flight");
  if (at_barrier_ != 0) fail("leaves while other threads of its block wait at __syncthreads for it");
  const unsigned first = current_->index / kWarp * kWarp;
  for (unsigned index = first; index < std::min(first + kWarp, shape_.threads); ++index) {
    const Thread& other = device_.threads[index];
    if (other.state == Thread::State::kInWarpFunction && (other.call.mask >> current_->index % kWarp & 1u) != 0) {
      fail("leaves while other lanes of its warp wait for it in a warp function");
    }
  }
  ++left_;
  pause(Thread::State::kLeft);
}

void Grid::pause(Thread::State state) {
  Thread& self = *current_;
  if (state == Thread::State::kReady) {
    make_ready(self);
  } else {
    self.state = state;
  }
  self.fiber.pause();
}

void Grid::make_ready(Thread& thread) {
  thread.state = Thread::State::kReady;
  ready_.push_back(&thread);
}

void Grid::fail(const std::string& what) {
  violation_ = fmt::format("thread {} of block {} {}", current_->index, block_, what);
  current_->fiber.pause();
  std::abort();  // it is never resumed
}

std::string Grid::describe_stuck() const {
  const auto count = [&](Thread::State state) {
    return std::count_if(device_.threads.begin(), device_.threads.begin() + shape_.threads,
                         [&](const Thread& thread) { return thread.state == state; });
  };
  return fmt::format("block {} is stuck: {} threads wait at __syncthreads, {} in a warp function, {} have left", block_,
                     count(Thread::State::kAtBarrier), count(Thread::State::kInWarpFunction), left_);
}

void Grid::barrier(int line) {
  if (left_ != 0) fail("waits at __syncthreads, but other threads of its block have left");
  current_->barrier_line = line;
  if (++at_barrier_ < shape_.threads) return pause(Thread::State::kAtBarrier);
  for (unsigned index = 0; index < shape_.threads; ++index) {
    Thread& other = device_.threads[index];
    if (other.barrier_line != line) {
      fail(
          fmt::format("is at __syncthreads of line {}, thread {} at that of line {}", line, index, other.barrier_line));
    }
    if (&other != current_) make_ready(other);
  }
  at_barrier_ = 0;
  ++device_.now;
  pause(Thread::State::kReady);
}

std::uint64_t Grid::warp(const WarpCall& call) {
  const unsigned first = current_->index / kWarp * kWarp;
  const std::span<Thread> warp(&device_.threads[first], std::min(kWarp, shape_.threads - first));
  if ((call.mask >> (current_->index - first) & 1u) == 0)
    fail("calls a warp function with a mask that lacks its own lane");
  if (call.mask >> (warp.size() - 1) > 1) fail("calls a warp function with lanes in the mask that do not exist");
  current_->call = call;
  bool all_here = true;
  for (Thread& lane : warp) {
    if ((call.mask >> (lane.index - first) & 1u) == 0 || &lane == current_) continue;
    if (lane.state == Thread::State::kLeft) fail("calls a warp function with a lane in the mask that has left");
    if (lane.state != Thread::State::kInWarpFunction) {
      all_here = false;
    } else if (lane.call.function != call.function || lane.call.mask != call.mask || lane.call.line != call.line) {
      fail(fmt::format("calls a warp function at line {} with mask {:08x}; lane {} waits at line {} with mask {:08x}",
                       call.line, call.mask, lane.index - first, lane.call.line, lane.call.mask));
    }
  }
  Thread& self = *current_;
  if (!all_here) {
    pause(Thread::State::kInWarpFunction);
  } else {
    meet(warp, call.mask);
  }
  return self.call_result;
}

void Grid::meet(std::span<Thread> warp, unsigned mask) {
  unsigned votes = 0;
  for (std::size_t lane = 0; lane < warp.size(); ++lane) {
    if ((mask >> lane & 1u) != 0 && warp[lane].call.value != 0) votes |= 1u << lane;
  }
  for (std::size_t lane = 0; lane < warp.size(); ++lane) {
    if ((mask >> lane & 1u) == 0) continue;
    Thread& thread = warp[lane];
    switch (thread.call.function) {
      case WarpFunction::kBallot: thread.call_result = votes; break;
      case WarpFunction::kAll: thread.call_result = votes == mask ? 1 : 0; break;
      case WarpFunction::kAny: thread.call_result = votes != 0 ? 1 : 0; break;
      case WarpFunction::kShuffle:
        if ((mask >> thread.call.source_lane & 1u) == 0) fail("shuffles from a lane outside the mask");
        thread.call_result = warp[thread.call.source_lane].call.value;
        break;
    }
    if (&thread != current_) make_ready(thread);
  }
  pause(Thread::State::kReady);
}

}  // namespace cakejit::emulation
