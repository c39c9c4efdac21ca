// Weights, bias and their gradients: read from and written to any of the three float types, one value at a time. (They
// are too few to matter; x, y, dy and dx go through the vectorised kernels.)
#pragma once

#include <cstdint>

#include "cakejit/cakejit.h"
#include "runtime/host/tiling.hpp"

namespace cakejit::host {

// The parameters of one block of channels in fp32, tap-major; 0 past the last channel, so that whole vectors may be
// read.
struct alignas(64) Parameters {
  float weight[kTaps][kBlockChannels];
  float bias[kBlockChannels];
};

// `weight` is [C,4], `bias` is [C] or null (then 0).
void load_parameters(const void* weight, cake_dtype weight_dtype, const void* bias, cake_dtype bias_dtype,
                     std::int64_t first_channel, std::int64_t channels, Parameters& parameters);

// Element `index` of `values` = value, rounded once to nearest even.
void store_value(void* values, cake_dtype dtype, std::int64_t index, float value);

// Element `index` of `values`.
float load_value(const void* values, cake_dtype dtype, std::int64_t index);

}  // namespace cakejit::host
