// Packets of neighbouring elements, the number formats, and parameters whose format is known at launch.
#pragma once

#include "launch_params.h"
#include "ptx.cuh"

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

// cp.async of a packet. 2 bytes are too few for the instruction and go through a register.
template <Reuse R, int Bytes>
__device__ __forceinline__ void copy_async(Packet<Bytes>* shared, const void* global) {
  if constexpr (Bytes < 4) {
    *shared = *static_cast<const Packet<Bytes>*>(global);
  } else {
    cp_async<R, Bytes>(shared, global);
  }
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
  __device__ __forceinline__ static u32 round_pair(float low, float high) { return round_pair_to_bf16(low, high); }
};

template <>
struct Format<kFp16> {
  static constexpr int kBytes = 2;
  __device__ __forceinline__ static float load(u16 bits) { return fp16_to_fp32(bits); }
  __device__ __forceinline__ static float low(u32 pair) { return load(static_cast<u16>(pair)); }
  __device__ __forceinline__ static float high(u32 pair) { return load(static_cast<u16>(pair >> 16)); }
  __device__ __forceinline__ static u32 round_pair(float low, float high) { return round_pair_to_fp16(low, high); }
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
