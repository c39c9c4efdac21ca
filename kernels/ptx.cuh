// Every PTX instruction that the kernels use, wrapped once under its own name. Nothing else in this folder holds inline assembly,
// and nothing here holds more than that: tests/emulation has a file of the same functions for the CPU.
#pragma once

namespace cakejit_kernels {

// ---- copies ----------------------------------------------------------------------------------------------------------

// Who reads a line again: nobody, or the neighbouring strip some microseconds later.
enum class Reuse { kNone, kLater };

// The L2 policy that keeps a line longer than the ones around it.
__device__ __forceinline__ unsigned long long evict_last_policy() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// cp.async: 4, 8 or 16 bytes from global to shared memory, complete only after the wait for its group.
template <Reuse R, int Bytes>
__device__ __forceinline__ void cp_async(void* shared, const void* global) {
  const unsigned target = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (R == Reuse::kLater) {
    asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], %2, %3;"
                 :
                 : "r"(target), "l"(global), "n"(Bytes), "l"(evict_last_policy())
                 : "memory");
  } else if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(target), "l"(global) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(target), "l"(global), "n"(Bytes) : "memory");
  }
}

__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Returns when all but the last `Pending` committed groups of this thread are complete.
template <int Pending>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" : : "n"(Pending) : "memory");
}

// Programmatic dependent launch: waits until the grid this one depends on has completed and its writes are visible.
__device__ __forceinline__ void grid_dependency_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// ---- arithmetic ------------------------------------------------------------------------------------------------------

// 2^v, at most 2 ulp off (PTX ISA, ex2.approx.ftz.f32).
__device__ __forceinline__ float exp2_approx(float v) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
  return result;
}

// 1/v, at most 1 ulp off (PTX ISA, rcp.approx.ftz.f32).
__device__ __forceinline__ float reciprocal_approx(float v) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
  return result;
}

// ---- conversions: to nearest even; of a pair, `low` goes to the lower half ----------------------------------------------

__device__ __forceinline__ unsigned round_pair_to_bf16(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

__device__ __forceinline__ unsigned round_pair_to_fp16(float low, float high) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

__device__ __forceinline__ float fp16_to_fp32(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

}  // namespace cakejit_kernels
