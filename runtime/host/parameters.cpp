#include "runtime/host/parameters.hpp"

#include <bit>
#include <cmath>

namespace cakejit::host {
namespace {

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);  // quiet, and never rounded to inf
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_fp16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return sign * (mantissa == 0 ? INFINITY : NAN);
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
}

std::uint16_t to_fp16(float value) {
  const auto sign = static_cast<std::uint32_t>(std::signbit(value) ? 0x8000 : 0);
  const float magnitude = std::fabs(value);
  const auto bits = std::bit_cast<std::uint32_t>(magnitude);
  std::uint32_t result = 0;
  if (std::isnan(value)) {
    result = 0x7e00;
  } else if (magnitude >= 65520.0f) {  // halfway between the largest finite number and 65536
    result = 0x7c00;
  } else if (magnitude < 0x1p-14f) {  // subnormal: adding 0.5 rounds at its last bit, 2^-24
    result = std::bit_cast<std::uint32_t>(magnitude + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
  } else {  // exponent bias 127 -> 15, then round to nearest even at bit 13
    result = (bits - (112u << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | result);
}

}  // namespace

float load_value(const void* values, cake_dtype dtype, std::int64_t index) {
  switch (dtype) {
    case CAKE_DTYPE_BF16: return from_bf16(static_cast<const std::uint16_t*>(values)[index]);
    case CAKE_DTYPE_FP16: return from_fp16(static_cast<const std::uint16_t*>(values)[index]);
    default: return static_cast<const float*>(values)[index];
  }
}

void store_value(void* values, cake_dtype dtype, std::int64_t index, float value) {
  switch (dtype) {
    case CAKE_DTYPE_BF16: static_cast<std::uint16_t*>(values)[index] = to_bf16(value); break;
    case CAKE_DTYPE_FP16: static_cast<std::uint16_t*>(values)[index] = to_fp16(value); break;
    default: static_cast<float*>(values)[index] = value; break;
  }
}

void load_parameters(const void* weight, cake_dtype weight_dtype, const void* bias, cake_dtype bias_dtype,
                     std::int64_t first_channel, std::int64_t channels, Parameters& parameters) {
  parameters = {};
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const std::int64_t source = first_channel + channel;
    for (int tap = 0; tap < kTaps; ++tap) {
      parameters.weight[tap][channel] = load_value(weight, weight_dtype, source * kTaps + tap);
    }
    if (bias != nullptr) parameters.bias[channel] = load_value(bias, bias_dtype, source);
  }
}

}  // namespace cakejit::host
