// A thread's own ring of rows in shared memory, filled ahead by cp.async. No other thread reads it, so no barrier is ever needed.
// Bytes in flight per thread: kRingGroups * kGroupRows * packet bytes.
#pragma once

#include "primitives.cuh"
#include "specialization.cuh"

namespace cakejit_kernels {

constexpr int kPacketBytes = kVector * Format<kDtype>::kBytes;
using RowPacket = Packet<kPacketBytes>;

static_assert(kRingGroups >= 3, "groups 0 and 1 are fetched before the first wait");

// [group][row of the group][thread]: neighbouring threads touch neighbouring packets, free of bank conflicts.
using RingStorage = RowPacket[kRingGroups][kGroupRows][kBlockThreads];

class RowRing {
 public:
  // `column` is the byte address of row 0 in this thread's channels; rows outside [begin, end) are never read. Group g holds
  // rows first_row + g*kGroupRows ...; begin lies in group 0 or at its end.
  __device__ __forceinline__ RowRing(RingStorage& storage, const void* column, i64 row_stride, i64 first_row, i64 begin,
                                     i64 end)
      : storage_(storage),
        source_(static_cast<const char*>(column) + first_row * row_stride * Format<kDtype>::kBytes),
        row_bytes_(row_stride * Format<kDtype>::kBytes),
        first_valid_(static_cast<int>(begin > first_row ? begin - first_row : 0)),
        end_valid_(static_cast<int>(end - first_row)) {}

  // Starts the copies of group 0, which may lack rows at its begin. Does not commit.
  __device__ __forceinline__ void fetch_first() {
    fetch_some<Reuse::kLater>(storage_[0], 0);
    source_ += kGroupRows * row_bytes_;
  }

  // Goes past group 0 without reading it.
  __device__ __forceinline__ void skip_first() { source_ += kGroupRows * row_bytes_; }

  // Starts the copies of group `group` > 0; groups are fetched in order. Does not commit. Reuse::kLater: the neighbouring strip
  // reads the same rows too, later.
  template <Reuse R>
  __device__ __forceinline__ void fetch(int group) {
    RowPacket(&slots)[kGroupRows][kBlockThreads] = storage_[group % kRingGroups];
    const int row = group * kGroupRows;
    if (row + kGroupRows <= end_valid_) {
#pragma unroll
      for (int r = 0; r < kGroupRows; ++r) copy_async<R>(&slots[r][threadIdx.x], source_ + r * row_bytes_);
    } else {
      fetch_some<R>(slots, row);
    }
    source_ += kGroupRows * row_bytes_;
  }

  // Row `row` of group `group`, as fp32. Its group must have been waited for. Rows outside the valid range are garbage.
  __device__ __forceinline__ void read(int group, int row, float (&value)[kVector]) const {
    unpack<kDtype, kVector>(storage_[group % kRingGroups][row][threadIdx.x], value);
  }

 private:
  template <Reuse R>
  __device__ __forceinline__ void fetch_some(RowPacket (&slots)[kGroupRows][kBlockThreads], int row) {
#pragma unroll
    for (int r = 0; r < kGroupRows; ++r) {
      if (row + r >= first_valid_ && row + r < end_valid_) {
        copy_async<R>(&slots[r][threadIdx.x], source_ + r * row_bytes_);
      }
    }
  }

  RingStorage& storage_;
  const char* source_;
  i64 row_bytes_;
  int first_valid_;
  int end_valid_;
};

}  // namespace cakejit_kernels
