// Times device work by events: candidates interleaved, the L2 cache cold before each, so that all see the same machine.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tools/bench/workload.hpp"

namespace cakejit::bench {

struct Candidate {
  std::string name;
  std::function<void(const device::Stream&)> run;  // puts its work on the stream
};

struct Timing {
  std::string name;
  double median_ms = 0;
  double p10_ms = 0;
  double p90_ms = 0;
};

// Each candidate runs once to warm up, then `repeats` times in turn.
std::vector<Timing> measure(const device::Device& device, const Arena& arena, std::span<const Candidate> candidates,
                            int repeats);

const Timing& fastest(std::span<const Timing> timings);

Timing summarize(std::string name, std::vector<double> samples_ms);

}  // namespace cakejit::bench
