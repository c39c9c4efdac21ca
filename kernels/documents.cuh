// Where documents begin. A cursor walks the tokens of one strip; positions are relative to the strip's first token.
// cu_seqlens only ever decides which taps count: it never enters an address of x, y, dy or dx, so wrong contents give
// wrong numbers but no access out of bounds.
#pragma once

#include "primitives.cuh"

namespace cakejit_kernels {

class DocumentCursor {
 public:
  // Finds the document of `first_token`: the last one that begins at or before it. Reads cu_seqlens[0..count] only.
  __device__ __forceinline__ DocumentCursor(const Documents& documents, i64 first_token)
      : documents_(documents), first_token_(first_token) {
    i64 low = 0;  // cu_seqlens[low] <= first_token
    i64 high = documents.count;
    while (low < high) {
      const i64 middle = low + (high - low + 1) / 2;
      if (offset(middle) <= first_token) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    index_ = low;
    start_ = clamp_relative(offset(low) - first_token);
    next_ = relative_start(low + 1);
    after_ = relative_start(low + 2);
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

  __device__ __forceinline__ i64 offset(i64 index) const {
    return documents_.is_int64 ? static_cast<const i64*>(documents_.cu_seqlens)[index]
                               : static_cast<const int*>(documents_.cu_seqlens)[index];
  }
  __device__ __forceinline__ static int clamp_relative(i64 distance) {
    return distance < -kFar ? -kFar : distance > kFar ? kFar : static_cast<int>(distance);
  }
  __device__ __forceinline__ int relative_start(i64 index) const {
    return index > documents_.count ? kFar : clamp_relative(offset(index) - first_token_);
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
