// Host time: of a hot call, and of first calls from an empty and from a warm disk cache, stage by stage.
#pragma once

#include <string>

#include "runtime/base/config.hpp"
#include "tools/device/device.hpp"

namespace cakejit::bench {

struct LatencyReport {
  std::string table;
  std::string json;
};

// Uses a cache folder of its own below the system's temporary folder, removed afterwards.
LatencyReport measure_latency(const device::Device& device, const Config& config);

}  // namespace cakejit::bench
