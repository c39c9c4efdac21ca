// Whether two tensors share a byte. Exact: column slices of one wider tensor lie between each other's rows and share
// none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cakejit::runtime {

// `rows` rows of `row_bytes` each, `stride_bytes` >= row_bytes apart. None, or empty ones, cover nothing.
struct Extent {
  std::uintptr_t begin = 0;
  std::int64_t rows = 0;
  std::int64_t row_bytes = 0;
  std::int64_t stride_bytes = 0;
};

inline Extent contiguous(const void* pointer, std::int64_t bytes) {
  return {reinterpret_cast<std::uintptr_t>(pointer), 1, bytes, bytes};
}

// False if its last byte lies beyond the address space: no such tensor exists.
bool fits_address_space(const Extent& extent);

// Both must fit the address space. O(1) unless the bounding ranges meet and the strides differ: then O(rows) of the one
// with fewer.
bool overlap(const Extent& a, const Extent& b);

}  // namespace cakejit::runtime
