// One problem to check the operation on, and the lists of them that every device must pass.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "cakejit/cake_causal_conv1d_det_train.h"
#include "tests/support/documents.hpp"

namespace cakejit::test {

// The tensor is columns [first_column, first_column + C) of a table with `extra_columns` more on the right.
struct Slice {
  std::int64_t first_column = 0;
  std::int64_t extra_columns = 0;
};

struct OperationCase {
  std::string name;
  Offsets offsets = {0};  // as given to the operation: N+1 values; {0} is N = 0, S = 0
  std::int64_t channels = 1;
  cake_dtype dtype = CAKE_DTYPE_BF16;
  cake_dtype weight_dtype = CAKE_DTYPE_BF16;
  cake_dtype bias_dtype = CAKE_DTYPE_BF16;  // NONE: no bias
  cake_dtype weight_grad_dtype = CAKE_DTYPE_FP32;
  cake_dtype bias_grad_dtype = CAKE_DTYPE_FP32;  // ignored without bias
  cake_dtype cu_seqlens_dtype = CAKE_DTYPE_INT32;
  cake_activation activation = CAKE_ACTIVATION_SILU;
  Slice x;
  Slice y;
  Slice dy;
  Slice dx;
  std::int64_t parameter_shift =
      0;  // weight, bias and their gradients begin this many elements after an aligned address
  std::uint64_t seed = 1;

  [[nodiscard]] std::int64_t tokens() const { return offsets.back(); }
  [[nodiscard]] std::int64_t row_stride(const Slice& slice) const {
    return slice.first_column + channels + slice.extra_columns;
  }
  [[nodiscard]] cake_causal_conv1d_det_train_problem problem(cake_device device) const;
};

// All that is needed to make the case again.
std::ostream& operator<<(std::ostream& out, const OperationCase& operation_case);

// How much work a list may be: on a GPU the full lists take minutes of float64 reference on the host.
enum class SweepSize { kQuick, kFull };

// Token counts around every tile edge times channel counts around every vector width; documents, dtypes, strides and
// options are mixed in by `seed`.
std::vector<OperationCase> shape_sweep(SweepSize size, std::uint64_t seed);

// Every allowed combination of dtypes and options on one small shape.
std::vector<OperationCase> option_sweep();

// Faults that users met elsewhere, each by name.
std::vector<OperationCase> fault_cases(SweepSize size);

}  // namespace cakejit::test
