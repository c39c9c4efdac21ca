// What nvcc and NVRTC know by themselves, for the host compiler: the keywords, indices, barriers, warp functions and
// arithmetic that the kernels use. Included before the text of each kernel library.
#pragma once

#include <bit>
#include <cstring>
#include <type_traits>

#include "tests/emulation/kernel_view/calls.hpp"

#define __global__
#define __device__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads)
// Blocks run one after the other, so one variable serves all. Each library has a section of its own: its bounds are
// known.
#define __shared__ static __attribute__((section(CAKEJIT_SHARED_SECTION)))

#define threadIdx (::cakejit::emulation::thread_index())
#define blockIdx (::cakejit::emulation::block_index())
#define blockDim (::cakejit::emulation::block_size())
#define gridDim (::cakejit::emulation::grid_size())

// __builtin_LINE() is the line of the call.
inline void __syncthreads(int line = __builtin_LINE()) {
  cakejit::emulation::wait_at_barrier(line);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return cakejit::emulation::ballot(mask, predicate != 0, line);
}

inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return cakejit::emulation::vote_all(mask, predicate != 0, line) ? 1 : 0;
}

inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return cakejit::emulation::vote_any(mask, predicate != 0, line) ? 1 : 0;
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source_lane, int line = __builtin_LINE()) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = cakejit::emulation::shuffle(mask, bits, static_cast<unsigned>(source_lane) % 32, line);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline int __clz(int value) {
  return std::countl_zero(static_cast<unsigned>(value));
}

inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}

inline unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}

// Compiled without contraction of a * b + c: each of these rounds once.
inline float __fadd_rn(float a, float b) {
  return a + b;
}

inline float __fsub_rn(float a, float b) {
  return a - b;
}

inline float __fmaf_rn(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
