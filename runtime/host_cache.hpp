// Launch plans of the process, keyed by everything they rest on. Bounded; thread-safe; a plan is committed whole or not
// at all.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "runtime/launch_plan.hpp"

namespace cakejit::runtime {

// Where a call runs and how its rows are aligned.
struct CallSite {
  std::uint64_t cuda_context_id = 0;  // cuCtxGetId: never reused, unlike the handle
  std::size_t row_alignment = 16;
};

// What decides the plan, and no more: calls that differ in documents, strides or the dtypes of weights, gradients and
// offsets share one, since the kernels take these at launch.
class PlanKey {
 public:
  PlanKey(Pass pass, const Problem& problem, const CallSite& site);
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
  [[nodiscard]] std::size_t hash() const noexcept;

 private:
  std::array<std::uint64_t, 5> words_;
};

class HostCache {
 public:
  explicit HostCache(std::size_t capacity);

  // The plan, or nullptr. Takes no exclusive lock.
  [[nodiscard]] std::shared_ptr<const LaunchPlan> find(const PlanKey& key) const;

  // Adds a finished plan; if another thread was first, that one stays and is returned. At capacity the plans unused for
  // longest make room.
  std::shared_ptr<const LaunchPlan> commit(const PlanKey& key, LaunchPlan plan);

  [[nodiscard]] std::size_t size() const;

 private:
  struct Slot {
    std::shared_ptr<const LaunchPlan> plan;
    std::unique_ptr<std::atomic<std::uint64_t>> last_use;
  };
  struct Hash {
    std::size_t operator()(const PlanKey& key) const noexcept { return key.hash(); }
  };

  void evict_oldest();

  const std::size_t capacity_;
  mutable std::atomic<std::uint64_t> clock_{0};
  mutable std::shared_mutex mutex_;
  std::unordered_map<PlanKey, Slot, Hash> slots_;
};

}  // namespace cakejit::runtime
