#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "runtime/host/kernels.hpp"
#include "tests/runtime/host/problem.hpp"
#include "tests/runtime/host/sparse_memory.hpp"
#include "tests/support/float_types.hpp"

using namespace cakejit;
using test::HostProblem;
using test::HostResult;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr cake_dtype kTypes[] = {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16, CAKE_DTYPE_FP32};

// True if all values of tokens [first, last) are finite and equal in both.
bool same_rows(const std::vector<double>& a, const std::vector<double>& b, std::int64_t channels, std::int64_t first,
               std::int64_t last) {
  bool same = true;
  for (auto i = static_cast<std::size_t>(first * channels); i < static_cast<std::size_t>(last * channels); ++i) {
    same = same && std::isfinite(a[i]) && a[i] == b[i];
  }
  return same;
}

}  // namespace

TEST_CASE("one to eight threads give the same bits") {
  const std::uint64_t seed = 21;
  CAPTURE(seed);
  for (const cake_dtype dtype : kTypes) {
    const HostProblem problem(test::random_documents(1100, 9, seed), 1090, dtype, seed);
    const HostResult one = problem.run(1);
    for (int threads = 2; threads <= 8; ++threads) {
      CAPTURE(test::name_of(dtype), threads);
      CHECK(problem.run(threads) == one);
    }
  }
}

TEST_CASE("each instruction set agrees with float64") {
  const std::uint64_t seed = 22;
  CAPTURE(seed);
  for (const test::Offsets& offsets : {test::random_documents(1500, 20, seed), test::short_documents(700, 5, seed)}) {
    for (const cake_dtype dtype : kTypes) {
      const HostProblem problem(offsets, 77, dtype, seed);
      const test::ReferenceTensor y = test::reference_forward(problem.input);
      const test::ReferenceBackward backward = test::reference_backward(problem.input);
      const double rounding = dtype == CAKE_DTYPE_BF16 ? 2.5e-3 : dtype == CAKE_DTYPE_FP16 ? 4e-4 : 3e-7;
      for (const host::KernelTable* kernels : host::available_kernels()) {
        CAPTURE(kernels->name, test::name_of(dtype));
        const HostResult result = problem.run(2, kernels);
        CHECK(test::relative_error(problem.values(result.y), y.value) < rounding);
        CHECK(test::relative_error(problem.values(result.dx), backward.dx.value) < rounding);
        CHECK(test::relative_error(result.dweight, backward.dweight.value) < 1e-6);
        CHECK(test::relative_error(result.dbias, backward.dbias.value) < 1e-6);
      }
    }
  }
}

TEST_CASE("long sums lose no accuracy: dweight and dbias over 100,000 tokens of one sign") {
  HostProblem problem(test::one_document(100'000), 3, CAKE_DTYPE_FP32, 23);
  for (double& value : problem.input.x) value = std::fabs(value);
  for (double& value : problem.input.dy) value = std::fabs(value);
  const test::ReferenceBackward backward = test::reference_backward(problem.input);
  for (const host::KernelTable* kernels : host::available_kernels()) {
    CAPTURE(kernels->name);
    const HostResult result = problem.run(2, kernels);
    CHECK(test::relative_error(result.dweight, backward.dweight.value) < 3e-7);
    CHECK(test::relative_error(result.dbias, backward.dbias.value) < 3e-7);
  }
}

TEST_CASE("NaN and inf in one document leave its neighbours' y and dx untouched") {
  const test::Offsets offsets = {0, 40, 41, 43, 46, 90, 90, 130};
  for (const cake_dtype dtype : kTypes) {
    const HostProblem clean(offsets, 37, dtype, 24);
    for (std::size_t poisoned = 0; poisoned + 1 < offsets.size(); ++poisoned) {
      HostProblem problem = clean;
      for (std::int64_t i = offsets[poisoned] * 37; i < offsets[poisoned + 1] * 37; ++i) {
        problem.input.x[static_cast<std::size_t>(i)] = i % 3 == 0 ? kNaN : i % 3 == 1 ? kInfinity : -kInfinity;
        problem.input.dy[static_cast<std::size_t>(i)] = kNaN;
      }
      for (const host::KernelTable* kernels : host::available_kernels()) {
        const HostResult expected = clean.run(1, kernels);
        const HostResult found = problem.run(1, kernels);
        for (std::size_t other = 0; other + 1 < offsets.size(); ++other) {
          if (other == poisoned) continue;
          CAPTURE(kernels->name, test::name_of(dtype), poisoned, other);
          const auto same = [&](const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
            return same_rows(problem.values(a), clean.values(b), 37, offsets[other], offsets[other + 1]);
          };
          CHECK(same(found.y, expected.y));
          CHECK(same(found.dx, expected.dx));
        }
      }
    }
  }
}

TEST_CASE("a strip's last rows see the next strip's first ones, and no more") {
  HostProblem problem(test::one_document(1030), 5, CAKE_DTYPE_FP32, 25);
  const HostResult clean = problem.run(1);
  problem.input.dy[515 * 5] = kNaN;  // token 515 reaches dx of tokens 512 to 515 only
  const HostResult poisoned = problem.run(1);
  CHECK(same_rows(problem.values(poisoned.dx), problem.values(clean.dx), 5, 0, 512));
  CHECK(same_rows(problem.values(poisoned.dx), problem.values(clean.dx), 5, 516, 1030));
  for (std::size_t token = 512; token < 516; ++token) CHECK(std::isnan(problem.values(poisoned.dx)[token * 5]));
}

TEST_CASE("no tokens give zero gradients") {
  const HostResult result = HostProblem({0}, 9, CAKE_DTYPE_BF16, 26).run(4);
  for (const float value : result.dweight) CHECK(value == 0.0f);
  for (const float value : result.dbias) CHECK(value == 0.0f);
}

TEST_CASE("rows more than 2^32 elements apart are found") {
  constexpr std::int64_t kStride = (std::int64_t{1} << 30) + 12;  // the fifth row lies past 2^32 elements
  constexpr std::int64_t kTokens = 10;
  constexpr std::int64_t kChannels = 3;
  const HostProblem dense(test::one_document(kTokens), kChannels, CAKE_DTYPE_BF16, 27);
  const HostResult expected = dense.run(1);

  const std::size_t bytes = static_cast<std::size_t>(kTokens * kStride) * 2;
  test::SparseMemory x(bytes);
  test::SparseMemory y(bytes);
  test::SparseMemory dy(bytes);
  test::SparseMemory dx(bytes);
  if (!x.data() || !y.data() || !dy.data() || !dx.data()) {
    WARN("skipped: this machine gives no address space of 80 GB");
    return;
  }
  for (std::int64_t token = 0; token < kTokens; ++token) {
    for (std::int64_t channel = 0; channel < kChannels; ++channel) {
      const auto index = static_cast<std::size_t>(token * kChannels + channel);
      test::put(x.data(), CAKE_DTYPE_BF16, token * kStride + channel, dense.input.x[index]);
      test::put(dy.data(), CAKE_DTYPE_BF16, token * kStride + channel, dense.input.dy[index]);
    }
  }
  const HostResult found = dense.run_in(x.data(), dy.data(), y.data(), dx.data(), kStride);
  CHECK(found == expected);
}
