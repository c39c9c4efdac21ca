// y = activation(conv(x)).
//
// One thread owns kVector neighbouring channels over one strip of p.strip_tokens tokens and walks them in order with the last
// three rows in registers. Threads are numbered through the channels of a strip, then through the strips, so that no lane is idle
// whatever C is, and a warp reads and writes whole lines.
//   shared memory  kRingGroups * kGroupRows * kBlockThreads packets (16 KiB at 8-byte packets)
//   in flight      kRingGroups - 1 groups of kGroupRows rows per thread
//   traffic        each row of x once, plus 3 rows a strip; each row of y once
#include "documents.cuh"
#include "row_ring.cuh"
#include "silu.cuh"
#include "taps.cuh"

namespace cakejit_kernels {

using Row = float[kVector];

__device__ __forceinline__ void store_row(char* row, const Row& value) {
  *reinterpret_cast<RowPacket*>(row) = pack<kDtype, kVector>(value);
}

__device__ __forceinline__ void forward(const ForwardParams& p, RingStorage& storage) {
  const u32 item = blockIdx.x * static_cast<u32>(kBlockThreads) + threadIdx.x;
  const i64 first = static_cast<i64>(item / kRowThreads) * p.strip_tokens;
  const u32 warp = __ballot_sync(0xffffffffu, first < p.tokens);
  if (first >= p.tokens) return;
  const i64 channel = static_cast<i64>(item % kRowThreads) * kVector;
  const int count = static_cast<int>(p.tokens - first < p.strip_tokens ? p.tokens - first : p.strip_tokens);

  // Group 0 holds the rows before the strip, group g the tokens [(g-1)*kGroupRows, g*kGroupRows).
  constexpr int kBytes = Format<kDtype>::kBytes;
  RowRing ring(storage, static_cast<const char*>(p.x) + channel * kBytes, p.x_row_stride, first - kGroupRows,
               first > 3 ? first - 3 : 0, first + count);
  ring.fetch_first();
  copy_async_commit();
#pragma unroll
  for (int g = 1; g < kRingGroups - 1; ++g) {
    ring.fetch<Reuse::kNone>(g);
    copy_async_commit();
  }

  Taps taps;
  taps.load(p.weight, p.weight_is_fp32, p.bias, p.bias_is_fp32, channel);
  DocumentCursor documents(p.documents, first, warp);
  const i64 y_row_bytes = p.y_row_stride * kBytes;
  char* y = static_cast<char*>(p.y) + first * y_row_bytes + channel * kBytes;

  Row window[kTaps];  // slot t % 4 holds row t
  copy_async_wait<kRingGroups - 2>();
#pragma unroll
  for (int r = 1; r < kGroupRows; ++r) ring.read(0, r, window[r]);

  for (int token = 0, group = 1; token < count; token += kGroupRows, ++group) {
    ring.fetch<Reuse::kNone>(group + kRingGroups - 2);
    copy_async_commit();
    copy_async_wait<kRingGroups - 2>();
    if (token + kGroupRows <= count && documents.interior(token, kGroupRows)) {
#pragma unroll
      for (int r = 0; r < kGroupRows; ++r) {
        ring.read(group, r, window[r]);
        Row value;
#pragma unroll
        for (int v = 0; v < kVector; ++v) {
          value[v] = activate(
              taps.z(v, window[(r + 1) % 4][v], window[(r + 2) % 4][v], window[(r + 3) % 4][v], window[r][v]));
        }
        store_row(y, value);
        y += y_row_bytes;
      }
      continue;
    }
#pragma unroll 1
    for (int r = 0; r < kGroupRows && token + r < count; ++r) {
      documents.step(token + r);
      const int position = documents.position();
      Row current;
      Row value;
      ring.read(group, r, current);
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        // Selected, not multiplied by zero: a NaN of the document before must not leak.
        value[v] = activate(taps.z(v, position >= 3 ? window[1][v] : 0.0f, position >= 2 ? window[2][v] : 0.0f,
                                   position >= 1 ? window[3][v] : 0.0f, current[v]));
        window[1][v] = window[2][v];
        window[2][v] = window[3][v];
        window[3][v] = current[v];
      }
      store_row(y, value);
      y += y_row_bytes;
    }
  }
}

}  // namespace cakejit_kernels

extern "C" __global__ void __launch_bounds__(cakejit_kernels::kBlockThreads)
    CAKEJIT_ENTRY_0(const __grid_constant__ cakejit_kernels::ForwardParams params) {
  __shared__ cakejit_kernels::RingStorage ring;
  cakejit_kernels::forward(params, ring);
}
