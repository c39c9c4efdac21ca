// A shared value made on first use by whichever thread comes first. A failure is not remembered: the next call tries
// again.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

namespace cakejit::runtime {

template <class T>
class Lazy {
 public:
  explicit Lazy(std::function<std::shared_ptr<const T>()> make) : make_(std::move(make)) {}

  // Lock-free once made. The value lives as long as this object.
  const T& get() {
    const T* ready = ready_.load(std::memory_order_acquire);
    return ready != nullptr ? *ready : *share();
  }

  std::shared_ptr<const T> share() {
    const std::lock_guard lock(mutex_);
    if (!value_) value_ = make_();
    ready_.store(value_.get(), std::memory_order_release);
    return value_;
  }

 private:
  std::function<std::shared_ptr<const T>()> make_;
  std::mutex mutex_;
  std::shared_ptr<const T> value_;
  std::atomic<const T*> ready_{nullptr};
};

}  // namespace cakejit::runtime
