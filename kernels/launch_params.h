// Parameters of the kernels, as the host passes them and the device reads them: the one definition of both sides.
// Strides are in elements. Any change of meaning or layout must raise CAKEJIT_KERNEL_ABI (include/cakejit/cakejit.h).
#pragma once

namespace cakejit_kernels {

// Values of cake_dtype (static_assert in runtime/launch.cpp).
enum Dtype : int { kBf16 = 1, kFp16 = 2, kFp32 = 3, kInt32 = 4, kInt64 = 5 };

struct Documents {
  const void* cu_seqlens;  // [count + 1], int32 or int64
  long long count;
  int is_int64;
};

struct ForwardParams {
  const void* x;
  const void* weight;  // [C, 4]
  const void* bias;    // [C]
  void* y;
  Documents documents;
  long long tokens;
  long long x_row_stride;
  long long y_row_stride;
  int strip_tokens;  // tokens of one thread, a multiple of 4
  int weight_is_fp32;  // else the dtype of x
  int bias_is_fp32;
};

struct BackwardParams {
  const void* x;
  const void* weight;
  const void* bias;
  const void* dy;
  void* dx;
  float* partials;  // [strips, 4 (+ 1 with bias), C]: sums over one strip of dz*x[t-3+k], and of dz
  Documents documents;
  long long tokens;
  long long x_row_stride;
  long long dy_row_stride;
  long long dx_row_stride;
  int strip_tokens;
  int weight_is_fp32;
  int bias_is_fp32;
};

struct ReduceParams {
  const float* partials;
  void* dweight;  // [C, 4]
  void* dbias;    // [C]
  long long strips;
  int dweight_is_fp32;  // else the dtype of x
  int dbias_is_fp32;
};

}  // namespace cakejit_kernels
