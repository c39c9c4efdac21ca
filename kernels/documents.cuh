// Where documents begin. A cursor walks the tokens of one strip; positions are relative to the strip's first token.
// cu_seqlens only ever decides which taps count: it never enters an address of x, y, dy or dx, so wrong contents give
// wrong numbers but no access out of bounds.
#pragma once

#include "primitives.cuh"

namespace cakejit_kernels {

class DocumentCursor {
 public:
  // Finds the document of `first_token`: the last one that begins at or before it. Reads cu_seqlens[0..count] only.
  // `warp` is the mask of the warp's lanes that call this.
  __device__ __forceinline__ DocumentCursor(const Documents& documents, i64 first_token, u32 warp)
      : documents_(documents), first_token_(first_token) {
    constexpr u32 kWholeWarp = 0xffffffffu;
    const bool together = warp == kWholeWarp && __all_sync(warp, first_token == __shfl_sync(warp, first_token, 0));
    index_ = together ? find_by_warp() : find_alone();
    start_ = relative(offset(index_));
    next_ = relative_start(index_ + 1);
    after_ = relative_start(index_ + 2);
  }

  // True when tokens [token, token + count) lie in one document and all have the three tokens before them in it.
  __device__ __forceinline__ bool interior(int token, int count) const {
    return token - start_ >= 3 && next_ >= token + count;
  }

  // Steps to `token` (called for each token in turn). Afterwards position() is its distance from its document's start.
  __device__ __forceinline__ void step(int token) {
    while (next_ == token) {
      start_ = token;
      ++index_;
      next_ = after_;
      after_ = relative_start(index_ + 2);  // not needed before the next start: its latency is hidden
    }
    position_ = token - start_;
  }

  __device__ __forceinline__ int position() const { return position_; }

 private:
  static constexpr int kFar = 0x3fffffff;

  // Bisection: as many dependent loads as the count has bits.
  __device__ __forceinline__ i64 find_alone() const {
    i64 low = 0;  // cu_seqlens[low] <= first_token
    i64 high = documents_.count;
    while (low < high) {
      const i64 middle = low + (high - low + 1) / 2;
      if (offset(middle) <= first_token_) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  // All lanes look for the same token: 32 probes at once, a dependent load for every 5 bits of the count.
  __device__ __forceinline__ i64 find_by_warp() const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const i64 end = documents_.count + 1;
    i64 low = 0;
    i64 candidates = end;  // the answer is in [low, low + candidates)
    while (candidates > 1) {
      const i64 step = (candidates + 31) / 32;
      const i64 probe = low + lane * step;
      const bool reached = lane == 0 || (probe < low + candidates && offset(probe) <= first_token_);
      const int last = 31 - __clz(static_cast<int>(__ballot_sync(0xffffffffu, reached)));
      low += last * step;
      candidates = step < end - low ? step : end - low;
    }
    return low;
  }

  __device__ __forceinline__ i64 offset(i64 index) const {
    return documents_.is_int64 ? static_cast<const i64*>(documents_.cu_seqlens)[index]
                               : static_cast<const int*>(documents_.cu_seqlens)[index];
  }
  // Unsigned, because wrong contents may make the difference overflow.
  __device__ __forceinline__ int relative(i64 token) const {
    const i64 distance = static_cast<i64>(static_cast<u64>(token) - static_cast<u64>(first_token_));
    return distance < -kFar ? -kFar : distance > kFar ? kFar : static_cast<int>(distance);
  }
  __device__ __forceinline__ int relative_start(i64 index) const {
    return index > documents_.count ? kFar : relative(offset(index));
  }

  const Documents& documents_;
  i64 first_token_;
  i64 index_;
  int start_;
  int next_;
  int after_;
  int position_ = 0;
};

}  // namespace cakejit_kernels
