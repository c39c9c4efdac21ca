// The operation in float64 by its definition, document by document: slow, and meant to be obviously right.
#pragma once

#include <cstdint>
#include <vector>

#include "cakejit/cakejit.h"
#include "tests/support/documents.hpp"

namespace cakejit::test {

// Dense, row-major: x and dy [S,C], weight [C,4], bias [C] or empty.
struct ReferenceInput {
  Offsets offsets;
  std::int64_t channels;
  cake_activation activation;
  std::vector<double> x;
  std::vector<double> weight;
  std::vector<double> bias;
  std::vector<double> dy;

  [[nodiscard]] std::int64_t tokens() const { return offsets.back(); }
};

// value[i], and magnitude[i]: the sum of the absolute values of the terms that fp32 arithmetic adds up for it, carried
// through the activation. An fp32 result is off by a small multiple of 2^-24 * magnitude, however its terms cancel.
struct ReferenceTensor {
  explicit ReferenceTensor(std::int64_t count)
      : value(static_cast<std::size_t>(count)), magnitude(static_cast<std::size_t>(count)) {}

  std::vector<double> value;
  std::vector<double> magnitude;
};

// A sum over tokens. root_square[i] is the root of the sum of its terms' squares: the size that a sum of random signs
// has.
struct ReferenceSum : ReferenceTensor {
  explicit ReferenceSum(std::int64_t count) : ReferenceTensor(count), root_square(static_cast<std::size_t>(count)) {}

  std::vector<double> root_square;
};

struct ReferenceBackward {
  ReferenceTensor dx;
  ReferenceSum dweight;
  ReferenceSum dbias;
};

double reference_silu(double z);
double reference_silu_derivative(double z);

ReferenceTensor reference_forward(const ReferenceInput& input);
ReferenceBackward reference_backward(const ReferenceInput& input);

}  // namespace cakejit::test
