// Runs lists of operation cases on an executor and prints the largest errors.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <iostream>
#include <vector>

#include "tests/support/operation_check.hpp"

namespace cakejit::test {

inline void check_all(Executor& executor, const std::vector<OperationCase>& cases, cake_context* context = nullptr) {
  OperationErrors worst;
  for (const OperationCase& operation_case : cases) {
    const OperationReport report = check_operation(executor, operation_case, context);
    INFO(report.text);
    CHECK(report.ok());
    if (operation_case.dtype == CAKE_DTYPE_FP32) {
      worst.y = std::max(worst.y, report.errors.y);
      worst.dx = std::max(worst.dx, report.errors.dx);
    }
    if (operation_case.weight_grad_dtype == CAKE_DTYPE_FP32) {
      worst.dweight = std::max(worst.dweight, report.errors.dweight);
    }
    if (operation_case.bias_grad_dtype == CAKE_DTYPE_FP32) worst.dbias = std::max(worst.dbias, report.errors.dbias);
  }
  std::cout << cases.size() << " cases; largest relative error of an fp32 tensor: y " << worst.y << ", dx " << worst.dx
            << ", dweight " << worst.dweight << ", dbias " << worst.dbias << '\n';
}

}  // namespace cakejit::test
