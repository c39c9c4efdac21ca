#include "runtime/overlap.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

using namespace cakejit::runtime;

namespace {

// Byte by byte.
std::set<std::uintptr_t> bytes_of(const Extent& e) {
  std::set<std::uintptr_t> bytes;
  for (std::int64_t row = 0; row < e.rows; ++row) {
    for (std::int64_t i = 0; i < e.row_bytes; ++i) {
      bytes.insert(e.begin + static_cast<std::uintptr_t>(row * e.stride_bytes + i));
    }
  }
  return bytes;
}

bool share_a_byte(const Extent& a, const Extent& b) {
  const auto first = bytes_of(a);
  return std::ranges::any_of(bytes_of(b), [&](std::uintptr_t byte) { return first.contains(byte); });
}

}  // namespace

TEST_CASE("two extents overlap exactly where they share a byte, whatever their rows and strides") {
  std::mt19937 random(7);
  const auto upto = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  int overlapping = 0;
  for (int round = 0; round < 20000; ++round) {
    Extent a{static_cast<std::uintptr_t>(100 + upto(40)), upto(5), upto(6), 0};
    Extent b{static_cast<std::uintptr_t>(100 + upto(40)), upto(5), upto(6), 0};
    a.stride_bytes = a.row_bytes + upto(8);
    b.stride_bytes = round % 2 == 0 ? std::max(a.stride_bytes, b.row_bytes) : b.row_bytes + upto(8);
    CAPTURE(a.begin, a.rows, a.row_bytes, a.stride_bytes, b.begin, b.rows, b.row_bytes, b.stride_bytes);
    const bool expected = share_a_byte(a, b);
    overlapping += expected ? 1 : 0;
    REQUIRE(overlap(a, b) == expected);
    REQUIRE(overlap(b, a) == expected);
  }
  CHECK(overlapping > 2000);
  CHECK(overlapping < 18000);
}

TEST_CASE("column slices of one wider tensor of any size are apart, and overlap by one column") {
  const std::int64_t rows = std::int64_t{1} << 31;
  const Extent q{0x10000, rows, 256, 768};
  const Extent k{0x10000 + 256, rows, 256, 768};
  CHECK_FALSE(overlap(q, k));
  CHECK_FALSE(overlap(k, q));
  CHECK(overlap(q, {0x10000 + 254, rows, 256, 768}));
  CHECK(overlap(k, {0x10000 + 510, 1, 4, 4}));
  CHECK_FALSE(overlap(k, {0x10000 + 512, 1, 256, 256}));
}

TEST_CASE("an extent that would end beyond the address space does not fit it") {
  const std::uintptr_t top = ~std::uintptr_t{0};
  CHECK(fits_address_space({top - 16, 1, 16, 16}));
  CHECK_FALSE(fits_address_space({top - 16, 1, 17, 17}));
  CHECK_FALSE(fits_address_space({top - 16, 2, 8, 16}));
  CHECK(fits_address_space({top, 0, 8, 8}));
  // 2^30 rows 2^33 bytes apart begin less than 2^63 bytes after the first; one row more reaches the end.
  const std::int64_t rows = std::int64_t{1} << 30;
  const std::int64_t stride = std::int64_t{1} << 33;
  CHECK(fits_address_space({std::uintptr_t{1} << 63, rows, 8, stride}));
  CHECK_FALSE(fits_address_space({std::uintptr_t{1} << 63, rows + 1, 8, stride}));
}
