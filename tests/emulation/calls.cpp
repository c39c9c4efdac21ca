#include "tests/emulation/kernel_view/calls.hpp"

#include <bit>
#include <cmath>

#include "tests/emulation/grid.hpp"
#include "tests/support/float_types.hpp"

namespace cakejit::emulation {

Index3 thread_index() {
  return {Grid::running()->thread(), 0, 0};
}

Index3 block_index() {
  return {Grid::running()->block(), 0, 0};
}

Index3 block_size() {
  return {Grid::running()->shape().threads, 1, 1};
}

Index3 grid_size() {
  return {Grid::running()->shape().blocks, 1, 1};
}

void wait_at_barrier(int line) {
  Grid::running()->barrier(line);
}

unsigned ballot(unsigned mask, bool predicate, int line) {
  return static_cast<unsigned>(Grid::running()->warp({WarpFunction::kBallot, mask, line, predicate, 0}));
}

bool vote_all(unsigned mask, bool predicate, int line) {
  return Grid::running()->warp({WarpFunction::kAll, mask, line, predicate, 0}) != 0;
}

bool vote_any(unsigned mask, bool predicate, int line) {
  return Grid::running()->warp({WarpFunction::kAny, mask, line, predicate, 0}) != 0;
}

std::uint64_t shuffle(unsigned mask, std::uint64_t bits, unsigned source_lane, int line) {
  return Grid::running()->warp({WarpFunction::kShuffle, mask, line, bits, source_lane});
}

void begin_copy(void* shared, const void* global, std::size_t bytes) {
  Grid::running()->begin_copy(shared, global, bytes);
}

void commit_copies() {
  Grid::running()->commit_copies();
}

void wait_for_copies(unsigned pending_groups) {
  Grid::running()->wait_for_copies(pending_groups);
}

void wait_for_dependency() {
  Grid::running()->wait_for_dependency();
}

// Round half to even on the bits, as cvt.rn does; NaN becomes its canonical NaN.
std::uint16_t round_to_bf16(float value) {
  if (std::isnan(value)) return 0x7fff;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

std::uint16_t round_to_fp16(float value) {
  if (std::isnan(value)) return 0x7fff;
  return static_cast<std::uint16_t>(test::encode(CAKE_DTYPE_FP16, test::round_to(CAKE_DTYPE_FP16, value)));
}

float widen_fp16(std::uint16_t bits) {
  return static_cast<float>(test::decode(CAKE_DTYPE_FP16, bits));
}

}  // namespace cakejit::emulation
