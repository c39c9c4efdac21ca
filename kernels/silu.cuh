// The activation and its derivative, in fp32.
#pragma once

#include "primitives.cuh"
#include "specialization.cuh"

namespace cakejit_kernels {

// 1 / (1 + exp(-z)); exactly 0 below -89 and exactly 1 above 17.
__device__ __forceinline__ float sigmoid(float z) {
  constexpr float kLog2E = 1.44269504088896340736f;
  return reciprocal_approx(1.0f + exp2_approx(-kLog2E * z));
}

__device__ __forceinline__ float activate(float z) {
  if constexpr (kSilu) return z * sigmoid(z);
  return z;
}

// dy * activation'(z); silu'(z) = s * (1 + z * (1 - s)) with s = sigmoid(z).
__device__ __forceinline__ float activation_gradient(float z, float dy) {
  if constexpr (kSilu) {
    const float s = sigmoid(z);
    return dy * (s * __fmaf_rn(z, 1.0f - s, 1.0f));
  }
  return dy;
}

}  // namespace cakejit_kernels
