#include "runtime/host/parallel.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <vector>

TEST_CASE("each task runs once, with fewer, as many and more threads than tasks") {
  for (const int threads : {1, 2, 7, 64}) {
    for (const std::int64_t count : {0, 1, 2, 63, 1000}) {
      CAPTURE(threads, count);
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      cakejit::host::parallel_for(count, threads, [&](std::int64_t task) { ++runs[static_cast<std::size_t>(task)]; });
      bool once = true;
      for (const std::atomic<int>& task_runs : runs) once = once && task_runs == 1;
      CHECK(once);
    }
  }
}
