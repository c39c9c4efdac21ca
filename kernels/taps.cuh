// The four taps of one thread's channels, and z from a window of x rows.
#pragma once

#include "primitives.cuh"
#include "specialization.cuh"

namespace cakejit_kernels {

constexpr int kTaps = 4;
static_assert(kChannels % kVector == 0, "a thread's channels must lie in one row");
static_assert(kGroupRows == kTaps, "the window rotates once per group, so that its indices are constants");
constexpr u32 kRowThreads = static_cast<u32>(kChannels / kVector);

struct Taps {
  float weight[kTaps][kVector];
  float bias[kVector];

  __device__ __forceinline__ void load(const void* weights, bool weight_is_fp32, const void* biases, bool bias_is_fp32,
                                       i64 channel) {
    float by_channel[kVector * kTaps];
    load_parameters<kDtype>(weights, weight_is_fp32, channel * kTaps, by_channel);
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
#pragma unroll
      for (int k = 0; k < kTaps; ++k) weight[k][v] = by_channel[v * kTaps + k];
    }
    if constexpr (kHasBias) load_parameters<kDtype>(biases, bias_is_fp32, channel, bias);
  }

  // z = bias + w0*x[t-3] + w1*x[t-2] + w2*x[t-1] + w3*x[t], in this order, whatever the route: y has the same bits everywhere.
  __device__ __forceinline__ float z(int v, float x3, float x2, float x1, float x0) const {
    float sum = kHasBias ? __fmaf_rn(weight[0][v], x3, bias[v]) : weight[0][v] * x3;
    sum = __fmaf_rn(weight[1][v], x2, sum);
    sum = __fmaf_rn(weight[2][v], x1, sum);
    return __fmaf_rn(weight[3][v], x0, sum);
  }
};

}  // namespace cakejit_kernels
