// Every PTX instruction that the kernels use, wrapped once under its own name, and the number formats.
// Nothing else in this folder holds inline assembly.
#pragma once

#include "launch_params.h"

namespace cakejit_kernels {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

// ---- packets: the bytes that one thread moves at once ---------------------------------------------------------------

template <int Bytes>
struct Packet;
template <>
struct alignas(16) Packet<16> {
  u32 word[4];
};
template <>
struct alignas(8) Packet<8> {
  u32 word[2];
};
template <>
struct alignas(4) Packet<4> {
  u32 word[1];
};
template <>
struct alignas(2) Packet<2> {
  u16 half;
};

// Who reads a line again: nobody, or the neighbouring strip some microseconds later.
enum class Reuse { kNone, kLater };

// The L2 policy that keeps a line longer than the ones around it.
__device__ __forceinline__ u64 evict_last_policy() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// cp.async: global to shared, no register in between, complete only after the wait for its group. 2-byte packets are too small
// for the instruction and go through a register.
template <Reuse R, int Bytes>
__device__ __forceinline__ void copy_async(Packet<Bytes>* shared, const void* global) {
  if constexpr (Bytes < 4) {
    *shared = *static_cast<const Packet<Bytes>*>(global);
  } else {
    const u32 target = static_cast<u32>(__cvta_generic_to_shared(shared));
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

// ---- number formats --------------------------------------------------------------------------------------------------

template <Dtype D>
struct Format;

template <>
struct Format<kBf16> {
  static constexpr int kBytes = 2;
  __device__ __forceinline__ static float load(u16 bits) { return __uint_as_float(static_cast<u32>(bits) << 16); }
  __device__ __forceinline__ static float low(u32 pair) { return __uint_as_float(pair << 16); }
  __device__ __forceinline__ static float high(u32 pair) { return __uint_as_float(pair & 0xffff0000u); }
  __device__ __forceinline__ static u32 round_pair(float low, float high) {
    u32 pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
  }
};

template <>
struct Format<kFp16> {
  static constexpr int kBytes = 2;
  __device__ __forceinline__ static float load(u16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
  __device__ __forceinline__ static float low(u32 pair) { return load(static_cast<u16>(pair)); }
  __device__ __forceinline__ static float high(u32 pair) { return load(static_cast<u16>(pair >> 16)); }
  __device__ __forceinline__ static u32 round_pair(float low, float high) {
    u32 pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
  }
};

template <>
struct Format<kFp32> {
  static constexpr int kBytes = 4;
};

// A packet's elements as fp32.
template <Dtype D, int N>
__device__ __forceinline__ void unpack(const Packet<N * Format<D>::kBytes>& packet, float (&value)[N]) {
  if constexpr (D == kFp32) {
#pragma unroll
    for (int i = 0; i < N; ++i) value[i] = __uint_as_float(packet.word[i]);
  } else if constexpr (N == 1) {
    value[0] = Format<D>::load(packet.half);
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      value[i] = Format<D>::low(packet.word[i / 2]);
      value[i + 1] = Format<D>::high(packet.word[i / 2]);
    }
  }
}

// fp32 values rounded once to a packet's format, to nearest even.
template <Dtype D, int N>
__device__ __forceinline__ Packet<N * Format<D>::kBytes> pack(const float (&value)[N]) {
  Packet<N * Format<D>::kBytes> packet;
  if constexpr (D == kFp32) {
#pragma unroll
    for (int i = 0; i < N; ++i) packet.word[i] = __float_as_uint(value[i]);
  } else if constexpr (N == 1) {
    packet.half = static_cast<u16>(Format<D>::round_pair(value[0], 0.0f));
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 2) packet.word[i / 2] = Format<D>::round_pair(value[i], value[i + 1]);
  }
  return packet;
}

// Parameters and their gradients: fp32 or the dtype D of the activations, known at launch. Touched once per strip.

// N neighbouring elements of format D from `base + index`, in 16-byte pieces where the address allows it.
template <Dtype D, int N>
__device__ __forceinline__ void load_elements(const void* base, i64 index, float (&value)[N]) {
  constexpr int kPiece = N * Format<D>::kBytes < 16 ? N : 16 / Format<D>::kBytes;
  using Piece = Packet<kPiece * Format<D>::kBytes>;
  const char* address = static_cast<const char*>(base) + index * Format<D>::kBytes;
  if (reinterpret_cast<u64>(address) % sizeof(Piece) == 0) {
#pragma unroll
    for (int i = 0; i < N; i += kPiece) {
      float piece[kPiece];
      unpack<D, kPiece>(reinterpret_cast<const Piece*>(address)[i / kPiece], piece);
#pragma unroll
      for (int j = 0; j < kPiece; ++j) value[i + j] = piece[j];
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float element[1];
      unpack<D, 1>(reinterpret_cast<const Packet<Format<D>::kBytes>*>(address)[i], element);
      value[i] = element[0];
    }
  }
}

template <Dtype D, int N>
__device__ __forceinline__ void load_parameters(const void* base, bool is_fp32, i64 index, float (&value)[N]) {
  if (D == kFp32 || is_fp32) {
    load_elements<kFp32, N>(base, index, value);
  } else {
    load_elements<D, N>(base, index, value);
  }
}

template <Dtype D>
__device__ __forceinline__ void store_parameter(void* base, bool is_fp32, i64 index, float value) {
  if (D == kFp32 || is_fp32) {
    static_cast<float*>(base)[index] = value;
  } else {
    const float values[1] = {value};
    static_cast<Packet<Format<D>::kBytes>*>(base)[index] = pack<D, 1>(values);
  }
}

}  // namespace cakejit_kernels
