// The kernels' building blocks, on every instruction set that this machine has.
#include "runtime/host/kernels.hpp"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <iostream>
#include <limits>
#include <vector>

#include "tests/support/float_types.hpp"
#include "tests/support/reference.hpp"

using namespace cakejit;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();

using Map = void (*)(const float*, float*, std::int64_t);

std::vector<float> map_all(Map map, const std::vector<float>& values) {
  std::vector<float> results(values.size());
  map(values.data(), results.data(), static_cast<std::int64_t>(values.size()));
  return results;
}

float apply_one(Map map, float value) {
  return map_all(map, {value})[0];
}

// Every `step`-th fp32 number from `first` away from 0 up to `last`, of one sign.
std::vector<float> numbers(float first, float last, std::uint32_t step) {
  std::vector<float> values;
  for (auto bits = std::bit_cast<std::uint32_t>(first); bits <= std::bit_cast<std::uint32_t>(last); bits += step) {
    values.push_back(std::bit_cast<float>(bits));
  }
  return values;
}

// In ulp of fp32 at the right result.
double error_in_ulp(double found, double expected) {
  return std::fabs(found - expected) / (2 * test::half_ulp(CAKE_DTYPE_FP32, expected));
}

std::uint32_t narrow_one(const host::KernelTable& kernels, cake_dtype dtype, float value) {
  std::uint16_t bits = 0;
  kernels.narrow(dtype, &value, &bits, 1);
  return bits;
}

}  // namespace

TEST_CASE("exp is off by at most 1.1 ulp, and by one subnormal step where the result is subnormal") {
  const std::vector<float> values = numbers(-0.0f, -110.0f, 331);
  for (const host::KernelTable* kernels : host::available_kernels()) {
    const std::vector<float> results = map_all(kernels->exp_nonpositive, values);
    double worst = 0;
    double worst_value = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = error_in_ulp(static_cast<double>(results[i]), std::exp(static_cast<double>(values[i])));
      if (error > worst) {
        worst = error;
        worst_value = static_cast<double>(values[i]);
      }
    }
    std::cout << kernels->name << ": exp is off by at most " << worst << " ulp (at " << worst_value << "), "
              << values.size() << " values\n";
    CAPTURE(kernels->name, worst_value);
    CHECK(worst <= 1.1);
    CHECK(apply_one(kernels->exp_nonpositive, -0.0f) == 1.0f);
    CHECK(apply_one(kernels->exp_nonpositive, -kInfinity) == 0.0f);
    CHECK(apply_one(kernels->exp_nonpositive, -kLargest) == 0.0f);
  }
}

TEST_CASE("silu is right to a few ulp from -87 to the largest number") {
  std::vector<float> values = numbers(0.0f, kLargest, 4999);
  const std::vector<float> negative = numbers(-0.0f, -87.0f, 4999);
  values.insert(values.end(), negative.begin(), negative.end());
  for (const host::KernelTable* kernels : host::available_kernels()) {
    const std::vector<float> results = map_all(kernels->silu, values);
    double worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double expected = test::reference_silu(static_cast<double>(values[i]));
      worst = std::max(worst, error_in_ulp(static_cast<double>(results[i]), expected));
    }
    std::cout << kernels->name << ": silu is off by at most " << worst << " ulp\n";
    CAPTURE(kernels->name);
    CHECK(worst <= 4);
  }
}

TEST_CASE("silu's derivative is right to a few units in its terms' last place") {
  std::vector<float> values = numbers(0.0f, 1e30f, 4999);
  const std::vector<float> negative = numbers(-0.0f, -1e30f, 4999);
  values.insert(values.end(), negative.begin(), negative.end());
  for (const host::KernelTable* kernels : host::available_kernels()) {
    const std::vector<float> results = map_all(kernels->silu_derivative, values);
    double worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto z = static_cast<double>(values[i]);
      const double sigmoid = 1 / (1 + std::exp(-z));
      const double terms = sigmoid + std::fabs(z) * sigmoid / (1 + std::exp(z));
      const double error = std::fabs(static_cast<double>(results[i]) - test::reference_silu_derivative(z));
      worst = std::max(worst, error / (terms * 0x1p-24 + 0x1p-126));
    }
    std::cout << kernels->name << ": silu' is off by at most " << worst << " half ulp of its terms\n";
    CAPTURE(kernels->name);
    CHECK(worst <= 10);
  }
}

TEST_CASE("silu and its derivative stay finite and right far out, and follow torch at the infinities") {
  struct Row {
    float z;
    float silu;
    float derivative;
  };
  const Row rows[] = {{80, 80, 1},
                      {-80, -80 * 1.80485e-35f, -79 * 1.80485e-35f},
                      {100, 100, 1},
                      {-200, 0, 0},
                      {1e30f, 1e30f, 1},
                      {-1e30f, 0, 0},
                      {kLargest, kLargest, 1},
                      {-kLargest, 0, 0},
                      {0, 0, 0.5f},
                      {-0.0f, 0, 0.5f},
                      {kInfinity, kInfinity, kNaN},
                      {-kInfinity, kNaN, kNaN},
                      {kNaN, kNaN, kNaN}};
  const auto same = [](float found, float expected) {
    return std::isnan(expected) ? std::isnan(found) : found == expected || std::fabs(found / expected - 1) < 1e-5f;
  };
  for (const host::KernelTable* kernels : host::available_kernels()) {
    for (const Row& row : rows) {
      CAPTURE(kernels->name, row.z);
      CHECK(same(apply_one(kernels->silu, row.z), row.silu));
      CHECK(same(apply_one(kernels->silu_derivative, row.z), row.derivative));
    }
  }
}

TEST_CASE("every bf16 and fp16 number is widened exactly and comes back as itself") {
  for (const host::KernelTable* kernels : host::available_kernels()) {
    for (const cake_dtype dtype : {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16}) {
      CAPTURE(kernels->name, test::name_of(dtype));
      std::vector<std::uint16_t> bits(0x10000);
      for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
      std::vector<float> wide(bits.size());
      std::vector<std::uint16_t> back(bits.size());
      kernels->widen(dtype, bits.data(), wide.data(), static_cast<std::int64_t>(bits.size()));
      kernels->narrow(dtype, wide.data(), back.data(), static_cast<std::int64_t>(bits.size()));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < bits.size(); ++i) {
        const double expected = test::decode(dtype, bits[i]);
        const double returned = test::decode(dtype, back[i]);
        const bool right = std::isnan(expected) ? std::isnan(wide[i]) && std::isnan(returned)
                                                : static_cast<double>(wide[i]) == expected && back[i] == bits[i];
        wrong += right ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("between any two neighbouring bf16 or fp16 numbers, rounding is to the nearest, ties to even") {
  for (const host::KernelTable* kernels : host::available_kernels()) {
    for (const cake_dtype dtype : {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16}) {
      const std::uint32_t infinity = test::encode(dtype, static_cast<double>(kInfinity));
      std::size_t wrong = 0;
      std::vector<float> values;
      for (std::uint32_t bits = 0; bits < infinity; ++bits) {
        const double low = test::decode(dtype, bits);
        const auto middle = static_cast<float>(low + test::half_ulp(dtype, low));
        for (const float value : {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, kInfinity)}) {
          values.push_back(value);
          values.push_back(-value);
        }
      }
      std::vector<std::uint16_t> narrowed(values.size());
      kernels->narrow(dtype, values.data(), narrowed.data(), static_cast<std::int64_t>(values.size()));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double expected = test::round_to(dtype, static_cast<double>(values[i]));
        wrong += narrowed[i] == test::encode(dtype, expected) ? 0 : 1;
      }
      CAPTURE(kernels->name, test::name_of(dtype));
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("NaN of any payload stays NaN, and what is too large becomes inf") {
  for (const host::KernelTable* kernels : host::available_kernels()) {
    for (const cake_dtype dtype : {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16}) {
      CAPTURE(kernels->name, test::name_of(dtype));
      for (const std::uint32_t payload : {0x7f800001u, 0x7fffffffu, 0x7fc00000u, 0xff800001u, 0xffffffffu}) {
        const std::uint32_t bits = narrow_one(*kernels, dtype, std::bit_cast<float>(payload));
        CHECK(std::isnan(test::decode(dtype, bits)));
      }
      CHECK(std::isinf(test::decode(dtype, narrow_one(*kernels, dtype, kLargest))));
      CHECK(test::decode(dtype, narrow_one(*kernels, dtype, -kInfinity)) == static_cast<double>(-kInfinity));
    }
  }
}

TEST_CASE("a single weight, bias or gradient is converted like a vector of them") {
  std::size_t wrong = 0;
  for (const cake_dtype dtype : {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16}) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto stored = static_cast<std::uint16_t>(bits);
      const double expected = test::decode(dtype, bits);
      const float loaded = host::load_value(&stored, dtype, 0);
      if (std::isnan(expected)) {
        wrong += std::isnan(loaded) ? 0 : 1;
        continue;
      }
      wrong += static_cast<double>(loaded) == expected ? 0 : 1;
      if (std::isinf(expected)) continue;
      const auto middle = static_cast<float>(expected + test::half_ulp(dtype, expected));
      for (const float value :
           {loaded, std::nextafter(middle, -kInfinity), middle, std::nextafter(middle, kInfinity)}) {
        std::uint16_t result = 0;
        host::store_value(&result, dtype, 0, value);
        wrong += result == test::encode(dtype, test::round_to(dtype, static_cast<double>(value))) ? 0 : 1;
      }
    }
  }
  CHECK(wrong == 0);
}
