#include "tools/aot/builder.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "cache/single_flight.hpp"

namespace cakejit::tools::aot {
namespace {

// Another process may be at the same library; then what it builds is taken.
Outcome build_one(const PlanItem& item, const cache::Store& store, const jit::Toolchain& toolchain,
                  const std::shared_ptr<spdlog::logger>& log) {
  try {
    cache::Flight flight = cache::load_or_build(
        store, runtime::cache_request(item.program), [&] { return runtime::build_entry(item.program, toolchain); },
        [](const cache::Manifest&) { return true; }, log);
    if (flight.not_kept) throw *flight.not_kept;
    return {flight.was_built ? State::kBuilt : State::kPresent, {}, std::move(flight.entry.manifest)};
  } catch (const std::exception& error) {
    return {State::kFailed, error.what(), std::nullopt};
  }
}

// The queue of one run: items are handed out once, counts are told to whoever waits.
class Queue {
 public:
  Queue(std::vector<std::size_t> items, std::size_t workers) : items_(std::move(items)), working_(workers) {}

  std::optional<std::size_t> next() {
    const std::size_t position = next_.fetch_add(1);
    return position < items_.size() ? std::optional(items_[position]) : std::nullopt;
  }

  void finished(bool failed) {
    const std::lock_guard lock(mutex_);
    ++done_;
    failed_ += failed ? 1 : 0;
    changed_.notify_one();
  }

  void worker_left() {
    const std::lock_guard lock(mutex_);
    --working_;
    changed_.notify_one();
  }

  // Returns when the last worker has left.
  void wait(const std::function<void(std::size_t, std::size_t)>& progress) {
    std::unique_lock lock(mutex_);
    while (working_ > 0) {
      if (progress) progress(done_, failed_);
      changed_.wait_for(lock, std::chrono::milliseconds(200));
    }
    if (progress) progress(done_, failed_);
  }

 private:
  const std::vector<std::size_t> items_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t done_ = 0;
  std::size_t failed_ = 0;
  std::size_t working_;
};

}  // namespace

std::vector<Outcome> find_present(const std::vector<PlanItem>& plan, const cache::Store& store) {
  std::vector<Outcome> outcomes(plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    auto entry = store.load(runtime::cache_request(plan[i].program));
    if (entry) outcomes[i] = {State::kPresent, {}, std::move(entry->manifest)};
  }
  return outcomes;
}

void build_missing(const std::vector<PlanItem>& plan, std::vector<Outcome>& outcomes, const cache::Store& store,
                   const jit::Toolchain& toolchain, const std::shared_ptr<spdlog::logger>& log,
                   const BuildControl& control) {
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (outcomes[i].state == State::kMissing) missing.push_back(i);
  }
  const std::size_t workers = std::min(missing.size(), static_cast<std::size_t>(std::max(1, control.jobs)));
  Queue queue(missing, workers);
  const auto work = [&] {
    while (!(control.stop && control.stop())) {
      const auto item = queue.next();
      if (!item) break;
      outcomes[*item] = build_one(plan[*item], store, toolchain, log);
      queue.finished(outcomes[*item].state == State::kFailed);
    }
    queue.worker_left();
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < workers; ++i) threads.emplace_back(work);
  queue.wait(control.progress);
}

}  // namespace cakejit::tools::aot
