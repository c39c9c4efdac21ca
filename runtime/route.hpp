// Which variant and tile serve a problem: a table, no state. The same question has the same answer for ever (no
// autotuning).
#pragma once

#include <cstddef>

#include "runtime/program.hpp"

namespace cakejit::runtime {

struct RouteQuery {
  Pass pass = Pass::kForward;
  std::int64_t channels = 0;
  cake_dtype dtype = CAKE_DTYPE_BF16;
  bool has_bias = false;
  cake_activation activation = CAKE_ACTIVATION_SILU;
  // Largest power of two, at most 16, that divides every row's address in bytes: pointers and row strides.
  std::size_t row_alignment = 16;
};

// Any query with channels >= 1 and row_alignment >= the element's size has an answer.
Specialization route(const RouteQuery& query, const jit::Target& target);

// Tokens of one strip: a multiple of 4. A pure function of the problem and the GPU's size, so the order of the sums is
// too.
int strip_tokens(const Specialization& specialization, std::int64_t tokens, int multiprocessors);

// No GPU cuts a backward of this shape into more strips: what the workspace is sized by.
std::int64_t max_backward_strips(std::int64_t tokens, std::int64_t channels, cake_dtype dtype);

}  // namespace cakejit::runtime
