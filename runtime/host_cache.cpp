#include "runtime/host_cache.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace cakejit::runtime {
namespace {

std::uint64_t bits(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

// All dtype and mode codes are below 16 (validated before a key is made).
std::uint64_t pack_codes(std::initializer_list<int> codes) {
  std::uint64_t word = 0;
  for (const int code : codes) word = word << 4 | static_cast<std::uint64_t>(code);
  return word;
}

}  // namespace

PlanKey::PlanKey(Pass pass, const Problem& p, const CallSite& site)
    : words_{site.cuda_context_id, site.row_alignment, bits(p.tokens), bits(p.channels),
             pack_codes({static_cast<int>(pass), p.dtype, p.bias_dtype == CAKE_DTYPE_NONE ? 0 : 1, p.activation})} {}

// A multiply-xorshift per word (the finaliser of MurmurHash3): five words cost a few nanoseconds.
std::size_t PlanKey::hash() const noexcept {
  std::uint64_t h = 0x9e3779b97f4a7c15u;
  for (const std::uint64_t word : words_) {
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h ^= h >> 33;
  }
  return h;
}

HostCache::HostCache(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {}

std::shared_ptr<const LaunchPlan> HostCache::find(const PlanKey& key) const {
  const std::shared_lock lock(mutex_);
  const auto found = slots_.find(key);
  if (found == slots_.end()) return nullptr;
  found->second.last_use->store(clock_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  return found->second.plan;
}

std::shared_ptr<const LaunchPlan> HostCache::commit(const PlanKey& key, LaunchPlan plan) {
  auto shared = std::make_shared<const LaunchPlan>(std::move(plan));
  auto last_use = std::make_unique<std::atomic<std::uint64_t>>(clock_.fetch_add(1, std::memory_order_relaxed));
  const std::unique_lock lock(mutex_);
  if (slots_.size() >= capacity_ && !slots_.contains(key)) evict_oldest();
  return slots_.try_emplace(key, Slot{std::move(shared), std::move(last_use)}).first->second.plan;
}

std::size_t HostCache::size() const {
  const std::shared_lock lock(mutex_);
  return slots_.size();
}

// An eighth at a time, so that a job whose every step has a new length pays for a scan only now and then.
void HostCache::evict_oldest() {
  std::vector<std::uint64_t> uses;
  uses.reserve(slots_.size());
  for (const auto& [key, slot] : slots_) uses.push_back(slot.last_use->load(std::memory_order_relaxed));
  const auto cut = uses.begin() + static_cast<std::ptrdiff_t>((uses.size() - 1) / 8);
  std::nth_element(uses.begin(), cut, uses.end());
  std::erase_if(slots_, [limit = *cut](const auto& item) {
    return item.second.last_use->load(std::memory_order_relaxed) <= limit;
  });
}

}  // namespace cakejit::runtime
