// dweight and dbias from the strips' partial sums: a fixed order, so the same bits on every run; compensated, so that the sum is
// as good as its parts however many strips there are.
//
// A block owns kReduceColumns columns (a column is one tap, or the bias, of one channel); its rows of threads each add every
// kReduceRows-th strip, then the first row adds the rows' results in order.
#pragma once

#include "primitives.cuh"
#include "taps.cuh"

namespace cakejit_kernels {

constexpr int kSumRows = kTaps + (kHasBias ? 1 : 0);
constexpr int kReduceColumns = 32;
constexpr int kReduceRows = 16;
constexpr int kReduceThreads = kReduceColumns * kReduceRows;

// An unevaluated sum value + error (Knuth's TwoSum): about twice fp32's precision, at fp32 rates on every GPU.
struct CompensatedSum {
  float value;
  float error;

  __device__ __forceinline__ void add(float term) {
    const float sum = __fadd_rn(value, term);
    const float part = __fsub_rn(sum, value);
    error = __fadd_rn(error, __fadd_rn(__fsub_rn(value, __fsub_rn(sum, part)), __fsub_rn(term, part)));
    value = sum;
  }
  // An infinite or NaN sum has a NaN error term; the sum alone is the answer then.
  __device__ __forceinline__ float total() const {
    const float sum = __fadd_rn(value, error);
    return sum == sum ? sum : value;
  }
};

using ReduceStorage = CompensatedSum[kReduceRows][kReduceColumns];

__device__ __forceinline__ void reduce(const ReduceParams& p, ReduceStorage& storage) {
  constexpr i64 kColumns = kSumRows * kChannels;
  const int lane = static_cast<int>(threadIdx.x) % kReduceColumns;
  const int row = static_cast<int>(threadIdx.x) / kReduceColumns;
  const i64 column = static_cast<i64>(blockIdx.x) * kReduceColumns + lane;

  grid_dependency_wait();
  CompensatedSum sum{0.0f, 0.0f};
  if (column < kColumns) {
    const float* partial = p.partials + row * kColumns + column;
#pragma unroll 8
    for (i64 strip = row; strip < p.strips; strip += kReduceRows, partial += kReduceRows * kColumns) sum.add(*partial);
  }
  storage[row][lane] = sum;
  __syncthreads();
  if (row != 0 || column >= kColumns) return;

  CompensatedSum total{0.0f, 0.0f};
#pragma unroll
  for (int r = 0; r < kReduceRows; ++r) total.add(storage[r][lane].value);
#pragma unroll
  for (int r = 0; r < kReduceRows; ++r) total.error = __fadd_rn(total.error, storage[r][lane].error);
  const i64 tap = column / kChannels;
  const i64 channel = column % kChannels;
  if (tap < kTaps) {
    store_parameter<kDtype>(p.dweight, p.dweight_is_fp32, channel * kTaps + tap, total.total());
  } else {
    store_parameter<kDtype>(p.dbias, p.dbias_is_fp32, channel, total.total());
  }
}

}  // namespace cakejit_kernels
