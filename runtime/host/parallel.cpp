#include "runtime/host/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace cakejit::host {

void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t index = next.fetch_add(1); index < count; index = next.fetch_add(1)) task(index);
  };
  std::vector<std::jthread> helpers;  // joined when it goes out of scope
  const auto wanted =
      static_cast<std::size_t>(std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(count, 1)) - 1);
  helpers.reserve(wanted);
  try {
    while (helpers.size() < wanted) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // Out of threads: slower, same bits.
  }
  work();
}

}  // namespace cakejit::host
