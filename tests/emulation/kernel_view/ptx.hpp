// kernels/ptx.cuh for the CPU: the same functions. exp2 and the reciprocal are exact here, within the rounding of fp32.
#pragma once

#include <cmath>

#include "tests/emulation/kernel_view/calls.hpp"

namespace cakejit::emulation::ptx {

enum class Reuse { kNone, kLater };

template <Reuse, int Bytes>
void cp_async(void* shared, const void* global) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  begin_copy(shared, global, Bytes);
}

inline void copy_async_commit() {
  commit_copies();
}

template <int Pending>
void copy_async_wait() {
  wait_for_copies(Pending);
}

inline void grid_dependency_wait() {
  wait_for_dependency();
}

// .ftz: subnormal numbers are zero, on the way in and out.
inline float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

inline float exp2_approx(float value) {
  return flushed(std::exp2(flushed(value)));
}

inline float reciprocal_approx(float value) {
  return flushed(1.0f / flushed(value));
}

inline unsigned round_pair_to_bf16(float low, float high) {
  return round_to_bf16(low) | static_cast<unsigned>(round_to_bf16(high)) << 16;
}

inline unsigned round_pair_to_fp16(float low, float high) {
  return round_to_fp16(low) | static_cast<unsigned>(round_to_fp16(high)) << 16;
}

inline float fp16_to_fp32(unsigned short bits) {
  return widen_fp16(bits);
}

}  // namespace cakejit::emulation::ptx
