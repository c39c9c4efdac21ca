// Runs one OperationCase, forward and backward, through the C ABI on any executor and holds the result against float64.
#pragma once

#include <string>
#include <vector>

#include "tests/support/executor.hpp"
#include "tests/support/operation_case.hpp"

namespace cakejit::test {

// ||out - reference|| / ||reference||; 0 where the reference is 0.
struct OperationErrors {
  double y = 0;
  double dx = 0;
  double dweight = 0;
  double dbias = 0;
};

struct OperationReport {
  OperationErrors errors;
  std::vector<std::string> failures;  // one line each; empty if all is well

  [[nodiscard]] bool ok() const { return failures.empty(); }
  // The case and its failures, ready to print.
  std::string text;
};

// Checked, each pass run twice:
//  - every call succeeds; both runs give the same bits, though outputs and workspace held other bytes before;
//  - each element is off by no more than one rounding of its type plus a small multiple of 2^-24 of the sum of its
//  terms'
//    magnitudes; each tensor as a whole is held to the norm bounds below;
//  - inputs, guard bytes and the columns beside a slice are unchanged; outputs are written everywhere.
//
// Norm bounds, relative to ||reference||. One rounding: bf16 2.5e-3, fp16 4e-4 (measured over many values: 1.6e-3 and
// 2.0e-4; under 1,024 elements the worst case of half an ulp, 2^-8 and 2^-11, is allowed), fp32 2^-24. To that comes
// the fp32 arithmetic: for y and dx 4 * 2^-24 of the norm of the magnitudes (in all about 1e-6 for fp32 tensors); for
// dweight and dbias 1e-6, of the norm of the terms' root sum of squares where the sums themselves cancel to less.
OperationReport check_operation(Executor& executor, const OperationCase& operation_case,
                                cake_context* context = nullptr);

}  // namespace cakejit::test
