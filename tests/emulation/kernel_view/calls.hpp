// What emulated kernels call of the emulation. Each acts for the calling emulated thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cakejit::emulation {

struct Index3 {
  unsigned x, y, z;
};
Index3 thread_index();
Index3 block_index();
Index3 block_size();
Index3 grid_size();

void wait_at_barrier(int line);
unsigned ballot(unsigned mask, bool predicate, int line);
bool vote_all(unsigned mask, bool predicate, int line);
bool vote_any(unsigned mask, bool predicate, int line);
std::uint64_t shuffle(unsigned mask, std::uint64_t bits, unsigned source_lane, int line);

void begin_copy(void* shared, const void* global, std::size_t bytes);
void commit_copies();
void wait_for_copies(unsigned pending_groups);
void wait_for_dependency();

std::uint16_t round_to_bf16(float value);
std::uint16_t round_to_fp16(float value);
float widen_fp16(std::uint16_t bits);

}  // namespace cakejit::emulation
