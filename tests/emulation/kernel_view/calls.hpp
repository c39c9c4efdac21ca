// What compiled kernels and the emulation know of each other. Plain types only: a standard container's functions,
// compiled with the kernels' options, could serve the emulation too, and report the emulation's own accesses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cakejit::emulation {

// What the host compiler has made of a kernel.
struct CompiledKernel {
  const char* symbol;
  void (*entry)(const void* params);  // runs the calling emulated thread
  std::size_t params_bytes;
  // All __shared__ variables.
  std::byte* shared_begin;
  std::byte* shared_end;
};

// What the kernels of kernels/ are specialised on, as far as it decides what they may touch.
struct KernelShape {
  std::int64_t channels;
  int element_bytes;
  bool has_bias;
};

// Their parameters are those of kernels/launch_params.h.
void add_forward(const CompiledKernel& code, const KernelShape& shape);
void add_backward(const CompiledKernel& code, const KernelShape& shape);
void add_reduce(const CompiledKernel& code, const KernelShape& shape);

// Each of the following acts for the calling emulated thread.

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
