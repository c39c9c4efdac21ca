#include "tests/support/float_types.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace cakejit::test {
namespace {

struct Format {
  int mantissa_bits;
  int exponent_bits;

  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] int smallest_exponent() const { return 1 - bias(); }
  [[nodiscard]] double largest() const { return std::ldexp(2 - std::ldexp(1.0, -mantissa_bits), bias()); }
};

Format format_of(cake_dtype dtype) {
  switch (dtype) {
    case CAKE_DTYPE_BF16: return {7, 8};
    case CAKE_DTYPE_FP16: return {10, 5};
    case CAKE_DTYPE_FP32: return {23, 8};
    default: throw std::logic_error("not a float type");
  }
}

// Distance between neighbouring numbers of the format around `value`.
double spacing(const Format& format, double value) {
  const int exponent =
      value == 0 ? format.smallest_exponent() : std::max(std::ilogb(value), format.smallest_exponent());
  return std::ldexp(1.0, exponent - format.mantissa_bits);
}

}  // namespace

std::size_t bytes_of(cake_dtype dtype) {
  switch (dtype) {
    case CAKE_DTYPE_NONE: return 0;
    case CAKE_DTYPE_BF16:
    case CAKE_DTYPE_FP16: return 2;
    case CAKE_DTYPE_INT64: return 8;
    default: return 4;
  }
}

const char* name_of(cake_dtype dtype) {
  constexpr const char* kNames[] = {"none", "bf16", "fp16", "fp32", "int32", "int64"};
  return kNames[dtype];
}

double round_to(cake_dtype dtype, double value) {
  if (!std::isfinite(value)) return value;
  const Format format = format_of(dtype);
  const double unit = spacing(format, value);
  const double rounded = std::nearbyint(value / unit) * unit;  // the division is exact; nearbyint: ties to even
  if (std::fabs(rounded) > format.largest()) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

double half_ulp(cake_dtype dtype, double value) {
  return spacing(format_of(dtype), value) / 2;
}

std::uint32_t encode(cake_dtype dtype, double value) {
  const Format format = format_of(dtype);
  const int sign_shift = format.mantissa_bits + format.exponent_bits;
  const std::uint32_t sign = std::signbit(value) ? 1u << sign_shift : 0;
  const std::uint32_t all_ones_exponent = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
  if (std::isnan(value)) return sign | all_ones_exponent | 1u << (format.mantissa_bits - 1);
  if (std::isinf(value)) return sign | all_ones_exponent;
  const double units = std::fabs(value) / spacing(format, value);
  if (units != std::floor(units) || std::fabs(value) > format.largest())
    throw std::logic_error("not a number of the type");
  // A subnormal has fewer units than a whole mantissa and exponent field 0, which this gives by itself.
  const int exponent =
      value == 0 ? format.smallest_exponent() : std::max(std::ilogb(value), format.smallest_exponent());
  const auto field = static_cast<std::uint32_t>(exponent - format.smallest_exponent());
  return sign | ((field << format.mantissa_bits) + static_cast<std::uint32_t>(units));
}

double decode(cake_dtype dtype, std::uint32_t bits) {
  const Format format = format_of(dtype);
  const std::uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const std::uint32_t field = bits >> format.mantissa_bits & ((1u << format.exponent_bits) - 1);
  const double sign = (bits >> (format.mantissa_bits + format.exponent_bits) & 1u) != 0 ? -1.0 : 1.0;
  if (field == (1u << format.exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const std::uint32_t whole = field == 0 ? mantissa : mantissa | 1u << format.mantissa_bits;
  const int exponent = format.smallest_exponent() + static_cast<int>(field == 0 ? 0 : field - 1);
  return sign * std::ldexp(static_cast<double>(whole), exponent - format.mantissa_bits);
}

void put(void* values, cake_dtype dtype, std::int64_t index, double value) {
  const std::uint32_t bits = encode(dtype, round_to(dtype, value));
  const std::size_t bytes = bytes_of(dtype);
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(static_cast<std::byte*>(values) + static_cast<std::size_t>(index) * bytes, &bits, bytes);
}

double get(const void* values, cake_dtype dtype, std::int64_t index) {
  std::uint32_t bits = 0;
  const std::size_t bytes = bytes_of(dtype);
  std::memcpy(&bits, static_cast<const std::byte*>(values) + static_cast<std::size_t>(index) * bytes, bytes);
  return decode(dtype, bits);
}

}  // namespace cakejit::test
