// The whole operation on the CPU, through the C ABI.
#include <catch2/catch.hpp>

#include <iostream>

#include "tests/support/operation_check.hpp"

using namespace cakejit::test;

namespace {

void check_all(const std::vector<OperationCase>& cases) {
  HostExecutor executor;
  OperationErrors worst;
  for (const OperationCase& operation_case : cases) {
    const OperationReport report = check_operation(executor, operation_case);
    INFO(report.text);
    CHECK(report.ok());
    if (operation_case.dtype == CAKE_DTYPE_FP32) {
      worst.y = std::max(worst.y, report.errors.y);
      worst.dx = std::max(worst.dx, report.errors.dx);
    }
    if (operation_case.weight_grad_dtype == CAKE_DTYPE_FP32)
      worst.dweight = std::max(worst.dweight, report.errors.dweight);
    if (operation_case.bias_grad_dtype == CAKE_DTYPE_FP32) worst.dbias = std::max(worst.dbias, report.errors.dbias);
  }
  std::cout << cases.size() << " cases; largest relative error of an fp32 tensor: y " << worst.y << ", dx " << worst.dx
            << ", dweight " << worst.dweight << ", dbias " << worst.dbias << '\n';
}

}  // namespace

TEST_CASE("on the host, any shape with any documents and strides agrees with float64") {
  constexpr std::uint64_t kSeed = 20260101;
  std::cout << "seed " << kSeed << ": ";
  check_all(shape_sweep(SweepSize::kQuick, kSeed));
}

TEST_CASE("on the host, every combination of types and options agrees with float64") {
  check_all(option_sweep());
}

TEST_CASE("on the host, none of the faults known from elsewhere happens") {
  check_all(fault_cases(SweepSize::kQuick));
}
