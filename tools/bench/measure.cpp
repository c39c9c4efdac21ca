#include "tools/bench/measure.hpp"

#include <algorithm>

namespace cakejit::bench {

Timing summarize(std::string name, std::vector<double> samples_ms) {
  std::sort(samples_ms.begin(), samples_ms.end());
  const auto quantile = [&](std::size_t tenth) { return samples_ms[(samples_ms.size() - 1) * tenth / 10]; };
  return {.name = std::move(name), .median_ms = quantile(5), .p10_ms = quantile(1), .p90_ms = quantile(9)};
}

std::vector<Timing> measure(const device::Device& device, const Arena& arena, std::span<const Candidate> candidates,
                            int repeats) {
  const device::Stream stream(device);
  for (const Candidate& candidate : candidates) candidate.run(stream);
  stream.synchronize();

  std::vector<device::Event> begins;
  std::vector<device::Event> ends;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    begins.emplace_back(device);
    ends.emplace_back(device);
  }
  std::vector<std::vector<double>> samples(candidates.size());
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      arena.flush_cache(stream);  // also keeps the device busy while the host puts the work on the stream
      begins[i].record(stream);
      candidates[i].run(stream);
      ends[i].record(stream);
    }
    stream.synchronize();
    for (std::size_t i = 0; i < candidates.size(); ++i) samples[i].push_back(ends[i].ms_since(begins[i]));
  }
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < candidates.size(); ++i) timings.push_back(summarize(candidates[i].name, samples[i]));
  return timings;
}

const Timing& fastest(std::span<const Timing> timings) {
  return *std::min_element(timings.begin(), timings.end(),
                           [](const Timing& a, const Timing& b) { return a.median_ms < b.median_ms; });
}

}  // namespace cakejit::bench
