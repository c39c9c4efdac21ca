// What the kernels promise of numbers beyond the agreement with float64: nothing leaks from document to document, sums
// are compensated, and the order of the terms is the same on every route.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "tests/emulation/emulated_context.hpp"
#include "tests/emulation/operation_buffers.hpp"
#include "tests/support/random_data.hpp"

using namespace cakejit::emulation;
using cakejit::test::GuardedTensor;
using cakejit::test::Slice;

namespace {

constexpr std::int64_t kStrip = 32;  // of the backward, at least
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Overwrites the rows of every other document, from number `first` on.
std::vector<double> with_poisoned_documents(std::vector<double> rows, const OperationCase& c, std::size_t first,
                                            double poison) {
  for (std::size_t document = first; document + 1 < c.offsets.size(); document += 2) {
    std::fill(rows.begin() + c.offsets[document] * c.channels, rows.begin() + c.offsets[document + 1] * c.channels,
              poison);
  }
  return rows;
}

// The bytes of the other documents' rows.
std::vector<std::byte> bytes_of_others(const GuardedTensor& tensor, const OperationCase& c, std::size_t poisoned) {
  const std::vector<std::byte> all = tensor.bytes();
  const auto row_bytes = c.channels * static_cast<std::int64_t>(cakejit::test::bytes_of(c.dtype));
  std::vector<std::byte> others;
  for (std::size_t document = 1 - poisoned; document + 1 < c.offsets.size(); document += 2) {
    others.insert(others.end(), all.begin() + c.offsets[document] * row_bytes,
                  all.begin() + c.offsets[document + 1] * row_bytes);
  }
  return others;
}

OperationCase fp32_identity(cakejit::test::Offsets offsets) {
  OperationCase c;
  c.offsets = std::move(offsets);
  c.channels = 24;
  c.dtype = c.weight_dtype = c.bias_dtype = CAKE_DTYPE_FP32;
  c.activation = CAKE_ACTIVATION_IDENTITY;
  return c;
}

// dbias, when dy is zero but for the given values, each in the middle of a strip.
double dbias_of(const std::vector<std::pair<std::int64_t, double>>& dy_of_strips) {
  EmulatedExecutor executor;
  const EmulatedContext context;
  const OperationCase c = fp32_identity({0, 40 * kStrip});
  OperationBuffers buffers(executor, c);
  std::vector<double> dy(static_cast<std::size_t>(c.tokens() * c.channels));
  for (const auto& [strip, value] : dy_of_strips) {
    std::fill_n(dy.begin() + (strip * kStrip + kStrip / 2) * c.channels, c.channels, value);
  }
  buffers.dy.write(dy);
  REQUIRE(buffers.run(context.get()) == "");
  const std::vector<double> dbias = buffers.dbias.values();
  for (const double value : dbias) {
    const bool same = value == dbias[0] || (std::isnan(value) && std::isnan(dbias[0]));
    CHECK(same);
  }
  return dbias[0];
}

}  // namespace

TEST_CASE("emulated, NaN or infinity in one document reaches no bit of another's y and dx") {
  EmulatedExecutor executor;
  const EmulatedContext context;
  for (const OperationCase& c : document_cases()) {
    if (c.offsets.size() > 6) continue;
    OperationBuffers buffers(executor, c);
    const auto x = OperationBuffers::random(5, c.tokens() * c.channels);
    const auto dy = OperationBuffers::random(6, c.tokens() * c.channels);
    for (const std::size_t poisoned : {std::size_t{0}, std::size_t{1}}) {
      std::vector<std::vector<std::byte>> y;
      std::vector<std::vector<std::byte>> dx;
      for (const double poison : {0.0, std::nan(""), kInfinity}) {
        buffers.x.write(with_poisoned_documents(x, c, poisoned, poison));
        buffers.dy.write(with_poisoned_documents(dy, c, poisoned, poison));
        CAPTURE(c, poisoned, poison);
        REQUIRE(buffers.run(context.get()) == "");
        y.push_back(bytes_of_others(buffers.y, c, poisoned));
        dx.push_back(bytes_of_others(buffers.dx, c, poisoned));
        CHECK((y.back() == y.front()));
        CHECK((dx.back() == dx.front()));
      }
    }
  }
}

TEST_CASE("emulated, the sum over strips loses nothing that cancels") {
  constexpr double kLarge = 0x1p27;
  // Strips 0 to 15 are the first of each row of the reduction; 16 and 32 go to the row of strip 0.
  CHECK(dbias_of({{0, kLarge}, {1, 1}, {2, -kLarge}}) == 1);
  CHECK(dbias_of({{0, kLarge}, {16, 1}, {32, -kLarge}}) == 1);
  CHECK(dbias_of({{0, 1}, {16, kLarge}, {32, -kLarge}}) == 1);
  CHECK(dbias_of({{3, kLarge}, {19, 3}, {4, -kLarge}, {15, 4}, {39, -2}}) == 5);
}

TEST_CASE("emulated, a sum that leaves fp32's range is infinite, not NaN, and NaN stays NaN") {
  constexpr double kHuge = 0x1p127;
  CHECK(dbias_of({{0, kHuge}, {16, kHuge}}) == kInfinity);
  CHECK(dbias_of({{0, kHuge}, {1, kHuge}}) == kInfinity);
  CHECK(dbias_of({{0, -kHuge}, {1, -kHuge}}) == -kInfinity);
  CHECK(std::isnan(dbias_of({{7, std::nan("")}})));
}

TEST_CASE("emulated, the terms of y are added in the documented order on every route") {
  EmulatedExecutor executor;
  const EmulatedContext context;
  for (const std::int64_t column : {0, 1}) {  // packets of 8 and of 4 bytes
    OperationCase c = fp32_identity({0, 20, 70});
    for (Slice* slice : {&c.x, &c.y, &c.dy, &c.dx}) *slice = {column, column};
    OperationBuffers buffers(executor, c);
    REQUIRE(buffers.run(context.get()) == "");
    const std::vector<double> x = buffers.x.values();
    const std::vector<double> weight = buffers.weight.values();
    const std::vector<double> bias = buffers.bias.values();
    const std::vector<double> y = buffers.y.values();
    const auto at = [](const std::vector<double>& values, std::int64_t index) {
      return static_cast<float>(values[static_cast<std::size_t>(index)]);
    };
    for (std::int64_t token = 0; token < c.tokens(); ++token) {
      for (std::int64_t channel = 0; channel < c.channels; ++channel) {
        const std::int64_t begin = token < 20 ? 0 : 20;
        float z = at(bias, channel);
        for (std::int64_t k = 0; k < 4; ++k) {
          const std::int64_t row = token - 3 + k;
          z = std::fma(at(weight, channel * 4 + k), row < begin ? 0.0f : at(x, row * c.channels + channel), z);
        }
        if (z != at(y, token * c.channels + channel)) FAIL("token " << token << ", channel " << channel);
      }
    }
  }
}
