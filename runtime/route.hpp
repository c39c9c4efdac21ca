// Which variant and tile serve a problem: a table, no state. The same question has the same answer for ever (no
// autotuning).
#pragma once

#include <cstddef>

#include "runtime/program.hpp"

namespace cakejit::runtime {

// Tokens of one strip of every backward route: fixed, so that the workspace's size and the order of the sums depend on
// the problem alone.
inline constexpr int kBackwardStripTokens = 256;

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

}  // namespace cakejit::runtime
