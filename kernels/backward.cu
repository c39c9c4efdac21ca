// dx, and per strip the partial sums of dweight and dbias; then their reduction in strip order.
//
// One thread owns kVector neighbouring channels over one strip of p.strip_tokens tokens. At token t it recomputes z[t], forms dz[t],
// adds dz[t]*x[t-3+k] to its sums, and scatters dz[t] into the pending dx[t-3..t]; dx[t-3] is then complete. The three tokens
// past the strip are walked too, for the strip's last dx, without adding to the sums.
//   shared memory  two rings of kRingGroups * kGroupRows * kBlockThreads packets (2 x 16 KiB at 8-byte packets)
//   in flight      kRingGroups - 1 groups of kGroupRows rows of x and of dy per thread
//   traffic        x and dy once, plus 6 and 3 rows a strip; dx once; (4 or 5) * 4 / p.strip_tokens bytes of sums per element
#include "documents.cuh"
#include "reduce.cuh"
#include "row_ring.cuh"
#include "silu.cuh"
#include "taps.cuh"

namespace cakejit_kernels {

using Row = float[kVector];

__device__ __forceinline__ void store_sums(float* destination, const Row& sum) {
  constexpr int kChunk = kVector < 4 ? kVector : 4;
#pragma unroll
  for (int v = 0; v < kVector; v += kChunk) {
    float chunk[kChunk];
#pragma unroll
    for (int i = 0; i < kChunk; ++i) chunk[i] = sum[v + i];
    *reinterpret_cast<Packet<4 * kChunk>*>(destination + v) = pack<kFp32, kChunk>(chunk);
  }
}

__device__ __forceinline__ void backward(const BackwardParams& p, RingStorage& x_storage, RingStorage& dy_storage) {
  const u32 item = blockIdx.x * static_cast<u32>(kBlockThreads) + threadIdx.x;
  const i64 strip = item / kRowThreads;
  const i64 first = strip * p.strip_tokens;
  const u32 warp = __ballot_sync(0xffffffffu, first < p.tokens);
  if (first >= p.tokens) return;
  const i64 channel = static_cast<i64>(item % kRowThreads) * kVector;
  const int count = static_cast<int>(p.tokens - first < p.strip_tokens ? p.tokens - first : p.strip_tokens);
  const int walked = count + 3;  // the tokens whose dz reaches into this strip
  const int readable = static_cast<int>(p.tokens - first < walked ? p.tokens - first : walked);

  constexpr int kBytes = Format<kDtype>::kBytes;
  RowRing x_ring(x_storage, static_cast<const char*>(p.x) + channel * kBytes, p.x_row_stride, first - kGroupRows,
                 first > 3 ? first - 3 : 0, first + readable);
  RowRing dy_ring(dy_storage, static_cast<const char*>(p.dy) + channel * kBytes, p.dy_row_stride, first - kGroupRows,
                  first, first + readable);
  dy_ring.skip_first();
  x_ring.fetch_first();  // dy has no rows in group 0
  copy_async_commit();
  x_ring.fetch<Reuse::kLater>(1);  // the strip before ends with these rows
  dy_ring.fetch<Reuse::kLater>(1);
  copy_async_commit();
#pragma unroll
  for (int g = 2; g < kRingGroups - 1; ++g) {
    x_ring.fetch<Reuse::kNone>(g);
    dy_ring.fetch<Reuse::kNone>(g);
    copy_async_commit();
  }

  Taps taps;
  taps.load(p.weight, p.weight_is_fp32, p.bias, p.bias_is_fp32, channel);
  DocumentCursor documents(p.documents, first, warp);
  const i64 dx_row_bytes = p.dx_row_stride * kBytes;
  char* dx = static_cast<char*>(p.dx) + (first - 3) * dx_row_bytes + channel * kBytes;  // row of token - 3

  Row window[kTaps];     // slot t % 4 holds x[t]
  Row pending[kTaps];    // slot t % 4 holds what dx[t] has so far
  Row dweight[kTaps];
  Row dbias;
  copy_async_wait<kRingGroups - 2>();
#pragma unroll
  for (int r = 1; r < kGroupRows; ++r) x_ring.read(0, r, window[r]);
#pragma unroll
  for (int v = 0; v < kVector; ++v) {
#pragma unroll
    for (int k = 0; k < kTaps; ++k) dweight[k][v] = pending[k][v] = 0.0f;
    dbias[v] = 0.0f;
  }

  for (int token = 0, group = 1; token < walked; token += kGroupRows, ++group) {
    x_ring.fetch<Reuse::kNone>(group + kRingGroups - 2);
    dy_ring.fetch<Reuse::kNone>(group + kRingGroups - 2);
    copy_async_commit();
    copy_async_wait<kRingGroups - 2>();
    if (token > 0 && token + kGroupRows <= count && documents.interior(token, kGroupRows)) {
#pragma unroll
      for (int r = 0; r < kGroupRows; ++r) {
        const int r3 = (r + 1) % 4;
        const int r2 = (r + 2) % 4;
        const int r1 = (r + 3) % 4;
        Row dy;
        Row done;
        x_ring.read(group, r, window[r]);
        dy_ring.read(group, r, dy);
#pragma unroll
        for (int v = 0; v < kVector; ++v) {
          const float z = taps.z(v, window[r3][v], window[r2][v], window[r1][v], window[r][v]);
          const float dz = activation_gradient(z, dy[v]);
          dweight[0][v] = __fmaf_rn(dz, window[r3][v], dweight[0][v]);
          dweight[1][v] = __fmaf_rn(dz, window[r2][v], dweight[1][v]);
          dweight[2][v] = __fmaf_rn(dz, window[r1][v], dweight[2][v]);
          dweight[3][v] = __fmaf_rn(dz, window[r][v], dweight[3][v]);
          if constexpr (kHasBias) dbias[v] += dz;
          done[v] = __fmaf_rn(taps.weight[0][v], dz, pending[r3][v]);
          pending[r2][v] = __fmaf_rn(taps.weight[1][v], dz, pending[r2][v]);
          pending[r1][v] = __fmaf_rn(taps.weight[2][v], dz, pending[r1][v]);
          pending[r][v] = taps.weight[3][v] * dz;
        }
        *reinterpret_cast<RowPacket*>(dx) = pack<kDtype, kVector>(done);
        dx += dx_row_bytes;
      }
      continue;
    }
#pragma unroll 1
    for (int r = 0; r < kGroupRows; ++r) {
      const int t = token + r;
      const bool exists = t < readable;
      documents.step(t);
      const int position = exists ? documents.position() : 0;
      Row x;
      Row dy;
      Row done;
      x_ring.read(group, r, x);
      dy_ring.read(group, r, dy);
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        // Selected, not multiplied by zero: neither a NaN of another document nor a row that was never read may leak.
        const float x3 = position >= 3 ? window[1][v] : 0.0f;
        const float x2 = position >= 2 ? window[2][v] : 0.0f;
        const float x1 = position >= 1 ? window[3][v] : 0.0f;
        const float x0 = exists ? x[v] : 0.0f;
        const float dz = activation_gradient(taps.z(v, x3, x2, x1, x0), exists ? dy[v] : 0.0f);
        if (t < count) {
          dweight[0][v] = __fmaf_rn(dz, x3, dweight[0][v]);
          dweight[1][v] = __fmaf_rn(dz, x2, dweight[1][v]);
          dweight[2][v] = __fmaf_rn(dz, x1, dweight[2][v]);
          dweight[3][v] = __fmaf_rn(dz, x0, dweight[3][v]);
          if constexpr (kHasBias) dbias[v] += dz;
        }
        done[v] = position >= 3 ? __fmaf_rn(taps.weight[0][v], dz, pending[1][v]) : pending[1][v];
        pending[1][v] = position >= 2 ? __fmaf_rn(taps.weight[1][v], dz, pending[2][v]) : pending[2][v];
        pending[2][v] = position >= 1 ? __fmaf_rn(taps.weight[2][v], dz, pending[3][v]) : pending[3][v];
        pending[3][v] = taps.weight[3][v] * dz;
        window[1][v] = window[2][v];
        window[2][v] = window[3][v];
        window[3][v] = x0;
      }
      if (t >= 3 && t < walked) *reinterpret_cast<RowPacket*>(dx) = pack<kDtype, kVector>(done);
      dx += dx_row_bytes;
    }
  }

  float* sums = p.partials + strip * (kSumRows * kChannels) + channel;
#pragma unroll
  for (int k = 0; k < kTaps; ++k) store_sums(sums + k * kChannels, dweight[k]);
  if constexpr (kHasBias) store_sums(sums + kTaps * kChannels, dbias);
}

}  // namespace cakejit_kernels

extern "C" __global__ void __launch_bounds__(cakejit_kernels::kBlockThreads)
    CAKEJIT_ENTRY_0(const __grid_constant__ cakejit_kernels::BackwardParams params) {
  __shared__ cakejit_kernels::RingStorage x_ring;
  __shared__ cakejit_kernels::RingStorage dy_ring;
  cakejit_kernels::backward(params, x_ring, dy_ring);
}

extern "C" __global__ void __launch_bounds__(cakejit_kernels::kReduceThreads)
    CAKEJIT_ENTRY_1(const __grid_constant__ cakejit_kernels::ReduceParams params) {
  __shared__ cakejit_kernels::ReduceStorage storage;
  cakejit_kernels::reduce(params, storage);
}
