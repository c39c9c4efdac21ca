/* Packed, width-4, depthwise causal conv1d + SiLU: forward and backward, bitwise deterministic, one rank.
 *
 *   z[t,c] = bias[c] + sum_{k=0..3} weight[c,k] * x[t-3+k, c]     (terms before the document's first token are 0)
 *   y[t,c] = z * sigmoid(z)                                       (SiLU; or y = z: identity)
 *   dz     = dy * silu'(z)
 *   dx[t,c] = sum_k weight[c,k] * dz[t+3-k, c]                    (terms past the document's last token are 0)
 *   dweight[c,k] = sum_t dz[t,c] * x[t-3+k, c];   dbias[c] = sum_t dz[t,c]
 *
 * Arithmetic is fp32, every output is rounded once. The backward recomputes z from x; the forward saves nothing.
 * The same inputs give the same bits on every call, stream and process.
 *
 * Tensors. S tokens, C channels, N documents. Token-major: element [t,c] of x lies at x + t*x_row_stride + c (in
 * elements); row strides are >= C, so each of x, y, dy, dx may be a column slice of a wider tensor. Weights are [C,4]
 * and contiguous, bias is [C]. cu_seqlens[N+1] is non-decreasing, cu_seqlens[0] = 0, cu_seqlens[N] = S; empty documents
 * are allowed. Outputs and the workspace must share no byte with an input or with each other, which is checked; column
 * slices of one tensor share none. Every element of every output is written on every call.
 *
 * Alignment. Every pointer must be aligned to its element. Rows that stay aligned to 8 bytes (pointer and stride) take
 * the fast routes; all others a narrower one, with the same bits in y and dx.
 */
#ifndef CAKEJIT_CAKE_CAUSAL_CONV1D_DET_TRAIN_H
#define CAKEJIT_CAKE_CAUSAL_CONV1D_DET_TRAIN_H

#include "cakejit/cakejit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is asked: shapes, dtypes, strides. Row strides are in elements; a stride of a tensor that the pass does not use
 * is ignored. */
typedef struct cake_causal_conv1d_det_train_problem {
  size_t struct_size;
  cake_device device;
  int64_t tokens;               /* S >= 0 */
  int64_t channels;             /* C >= 1 */
  int64_t documents;            /* N >= 0; 0 only with S = 0 */
  cake_dtype dtype;             /* x, y, dy, dx: BF16, FP16, FP32 */
  cake_dtype weight_dtype;      /* dtype or FP32 */
  cake_dtype bias_dtype;        /* dtype or FP32; NONE: no bias, and no dbias */
  cake_dtype weight_grad_dtype; /* FP32 or weight_dtype; NONE in a forward-only problem */
  cake_dtype bias_grad_dtype;   /* FP32 or bias_dtype; NONE in a forward-only problem or without bias */
  cake_dtype cu_seqlens_dtype;  /* INT32 or INT64 */
  cake_activation activation;
  int64_t x_row_stride;
  int64_t y_row_stride;  /* forward */
  int64_t dy_row_stride; /* backward */
  int64_t dx_row_stride; /* backward */
} cake_causal_conv1d_det_train_problem;

/* Pointers of a forward call; device memory for CAKE_DEVICE_CUDA, host memory for CAKE_DEVICE_HOST. */
typedef struct cake_causal_conv1d_det_train_forward_args {
  size_t struct_size;
  const void* x;
  const void* weight;
  const void* bias;            /* NULL exactly when bias_dtype is NONE */
  const void* cu_seqlens;      /* [N+1] */
  const void* cu_seqlens_host; /* NULL, or a host copy of cu_seqlens (same dtype), which is then checked */
  void* y;
  void* workspace; /* forward_workspace_bytes; may be NULL when that is 0 */
  size_t workspace_bytes;
} cake_causal_conv1d_det_train_forward_args;

typedef struct cake_causal_conv1d_det_train_backward_args {
  size_t struct_size;
  const void* x;
  const void* weight;
  const void* bias;
  const void* dy;
  const void* cu_seqlens;
  const void* cu_seqlens_host;
  void* dx;
  void* dweight;   /* [C,4] */
  void* dbias;     /* [C]; NULL exactly when bias_dtype is NONE */
  void* workspace; /* backward_workspace_bytes, 16-byte aligned; contents are scratch, no initialisation needed */
  size_t workspace_bytes;
} cake_causal_conv1d_det_train_backward_args;

typedef CAKE_ENUM(cake_pass) { CAKE_PASS_FORWARD = 1, CAKE_PASS_BACKWARD = 2 } cake_pass;

/* 1 if the problem can be run for the passes in the mask `passes` (cake_pass values or-ed), else 0. On 0, *reason (if
 * reason is not NULL) is a message valid until this thread's next failing call. Needs no GPU. */
CAKE_API int is_cake_causal_conv1d_det_train_supported(const cake_causal_conv1d_det_train_problem* problem,
                                                       uint32_t passes, const char** reason);

/* Bytes of workspace that a call with this problem needs. Pure arithmetic on the problem: needs no GPU. */
CAKE_API cake_status cake_causal_conv1d_det_train_forward_workspace_bytes(
    const cake_causal_conv1d_det_train_problem* problem, size_t* bytes);
CAKE_API cake_status cake_causal_conv1d_det_train_backward_workspace_bytes(
    const cake_causal_conv1d_det_train_problem* problem, size_t* bytes);

/* Launches y = forward(x) on `stream`. The first call with new (C, dtypes, alignment) may load or compile a library. */
CAKE_API cake_status cake_causal_conv1d_det_train_forward(cake_context* context,
                                                          const cake_causal_conv1d_det_train_problem* problem,
                                                          const cake_causal_conv1d_det_train_forward_args* args,
                                                          cake_stream stream);

/* Launches dx, dweight, dbias = backward(x, dy) on `stream`. */
CAKE_API cake_status cake_causal_conv1d_det_train_backward(cake_context* context,
                                                           const cake_causal_conv1d_det_train_problem* problem,
                                                           const cake_causal_conv1d_det_train_backward_args* args,
                                                           cake_stream stream);

/* Does all the set-up of a later call with the same problem, and launches nothing, so that the later call can be
 * captured in a CUDA graph. `pointer_alignment`: the largest power of two, at most 16, that divides the addresses of x
 * and y (forward) or x, dy and dx (backward); 0 means 16. The strides are the problem's. Needs a current CUDA context. */
CAKE_API cake_status cake_causal_conv1d_det_train_prepare(cake_context* context,
                                                          const cake_causal_conv1d_det_train_problem* problem,
                                                          uint32_t passes, size_t pointer_alignment);

#ifdef __cplusplus
}
#endif
#endif
