#include "tools/aot/jobs.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

namespace cakejit::tools::aot {
namespace {

// Allowed to each compile at work. Kernels of this project need less (docs/toolchain.md); NVRTC is reported to hold a
// few hundred MB for large sources.
constexpr std::int64_t kBytesPerJob = std::int64_t{400} << 20;

int process_cpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

// The first number of a one-line file; `otherwise` when there is none ("max").
std::int64_t number_in(const char* path, std::int64_t otherwise) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? number : otherwise;
}

std::int64_t system_free_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name, rest; file >> name; std::getline(file, rest)) {
    std::int64_t kilobytes = 0;
    if (name == "MemAvailable:" && file >> kilobytes) return kilobytes << 10;
  }
  return std::numeric_limits<std::int64_t>::max();
}

std::int64_t container_free_bytes() {
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  const std::int64_t limit = number_in("/sys/fs/cgroup/memory.max", kUnlimited);
  return limit == kUnlimited ? limit : limit - number_in("/sys/fs/cgroup/memory.current", 0);
}

}  // namespace

int default_jobs() {
  const std::int64_t by_memory = std::min(system_free_bytes(), container_free_bytes()) / kBytesPerJob;
  return static_cast<int>(std::clamp<std::int64_t>(by_memory, 1, std::max(1, process_cpus())));
}

}  // namespace cakejit::tools::aot
