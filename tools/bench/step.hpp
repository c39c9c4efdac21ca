// One packed training step (forward and backward) on real document lengths, checked against float64.
#pragma once

#include <string>

#include "runtime/base/config.hpp"

namespace cakejit::bench {

// `device`: "cuda", "host", or "auto" (a GPU if there is one). Prints a table. Returns the exit status: 1 if a check
// failed.
int run_step(const std::string& device, const Config& config);

}  // namespace cakejit::bench
