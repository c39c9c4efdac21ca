#include "runtime/overlap.hpp"

#include <limits>

namespace cakejit::runtime {
namespace {

bool is_empty(const Extent& e) {
  return e.rows <= 0 || e.row_bytes <= 0;
}

// Bytes from the first to the last, of an extent that is not empty.
std::uint64_t span_bytes(const Extent& e) {
  return static_cast<std::uint64_t>(e.rows - 1) * static_cast<std::uint64_t>(e.stride_bytes) +
         static_cast<std::uint64_t>(e.row_bytes);
}

bool meet(std::uintptr_t a, std::uint64_t a_bytes, std::uintptr_t b, std::uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

// Whether the bytes [begin, begin + bytes), which meet the bounding range of `e`, meet one of its rows.
bool meets_a_row(const Extent& e, std::uintptr_t begin, std::uint64_t bytes) {
  if (begin <= e.begin) return true;  // then they reach its first row
  const std::uint64_t offset = begin - e.begin;
  const auto stride = static_cast<std::uint64_t>(e.stride_bytes);
  const std::uint64_t row = offset / stride;
  if (row < static_cast<std::uint64_t>(e.rows) && offset % stride < static_cast<std::uint64_t>(e.row_bytes))
    return true;
  return row + 1 < static_cast<std::uint64_t>(e.rows) && offset % stride + bytes > stride;
}

// a.begin <= b.begin. Row j of b begins in the period of row j + shift of a; it meets that row or the one after.
bool equal_strides_overlap(const Extent& a, const Extent& b) {
  const auto stride = static_cast<std::uint64_t>(a.stride_bytes);
  const std::uint64_t shift = (b.begin - a.begin) / stride;
  const std::uint64_t within = (b.begin - a.begin) % stride;
  const auto rows = static_cast<std::uint64_t>(a.rows);
  if (shift < rows && within < static_cast<std::uint64_t>(a.row_bytes)) return true;
  return shift + 1 < rows && within + static_cast<std::uint64_t>(b.row_bytes) > stride;
}

}  // namespace

bool fits_address_space(const Extent& extent) {
  return is_empty(extent) || span_bytes(extent) <= std::numeric_limits<std::uintptr_t>::max() - extent.begin;
}

bool overlap(const Extent& a, const Extent& b) {
  if (is_empty(a) || is_empty(b) || !meet(a.begin, span_bytes(a), b.begin, span_bytes(b))) return false;
  if (a.stride_bytes == b.stride_bytes)
    return a.begin <= b.begin ? equal_strides_overlap(a, b) : equal_strides_overlap(b, a);
  const Extent& few = a.rows <= b.rows ? a : b;
  const Extent& many = a.rows <= b.rows ? b : a;
  for (std::int64_t row = 0; row < few.rows; ++row) {
    const std::uintptr_t begin =
        few.begin + static_cast<std::uint64_t>(row) * static_cast<std::uint64_t>(few.stride_bytes);
    const auto bytes = static_cast<std::uint64_t>(few.row_bytes);
    if (meet(begin, bytes, many.begin, span_bytes(many)) && meets_a_row(many, begin, bytes)) return true;
  }
  return false;
}

}  // namespace cakejit::runtime
