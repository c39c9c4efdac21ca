// The whole operation on the CPU, through the C ABI.
#include <catch2/catch.hpp>

#include "tests/support/operation_sweep.hpp"

using namespace cakejit::test;

TEST_CASE("on the host, any shape with any documents and strides agrees with float64") {
  HostExecutor executor;
  constexpr std::uint64_t kSeed = 20260101;
  std::cout << "seed " << kSeed << ": ";
  check_all(executor, shape_sweep(SweepSize::kQuick, kSeed));
}

TEST_CASE("on the host, every combination of types and options agrees with float64") {
  HostExecutor executor;
  check_all(executor, option_sweep());
}

TEST_CASE("on the host, none of the faults known from elsewhere happens") {
  HostExecutor executor;
  check_all(executor, fault_cases(SweepSize::kQuick));
}
