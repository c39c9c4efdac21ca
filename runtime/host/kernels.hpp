// The vectorised kernels: one strip of tokens times one block of channels each. The same text is compiled for several
// instruction sets (kernels_*.cpp); bits may differ between these, but not between anything else.
#pragma once

#include <cstdint>
#include <span>

#include "cakejit/cakejit.h"
#include "runtime/host/parameters.hpp"

namespace cakejit::host {

// x and y point at the strip's first token and the block's first channel; strides are in elements. history holds
// tokens + 3 entries (documents.hpp) and alone decides which rows before and after the strip are read.
struct ForwardStrip {
  const void* x;
  void* y;
  std::int64_t x_stride;
  std::int64_t y_stride;
  const Parameters* parameters;
  const std::uint8_t* history;
  std::int64_t tokens;
  std::int64_t channels;  // at most kBlockChannels
};

// sums[i] receives the strip's sum for each channel: i < 4: dweight's tap i; 4: dbias.
struct BackwardStrip {
  const void* x;
  const void* dy;
  void* dx;
  std::int64_t x_stride;
  std::int64_t dy_stride;
  std::int64_t dx_stride;
  const Parameters* parameters;
  const std::uint8_t* history;
  std::int64_t tokens;
  std::int64_t channels;
  float* sums[kSums];  // a null one is not wanted
};

struct KernelTable {
  const char* name;
  void (*forward)(cake_dtype dtype, cake_activation activation, const ForwardStrip& strip);
  void (*backward)(cake_dtype dtype, cake_activation activation, const BackwardStrip& strip);

  // The building blocks by themselves, so that tests can sweep them.
  void (*exp_nonpositive)(const float* values, float* results, std::int64_t count);
  void (*silu)(const float* values, float* results, std::int64_t count);
  void (*silu_derivative)(const float* values, float* results, std::int64_t count);
  void (*widen)(cake_dtype dtype, const void* values, float* results, std::int64_t count);
  void (*narrow)(cake_dtype dtype, const float* values, void* results, std::int64_t count);
};

const KernelTable& baseline_kernels();
const KernelTable& avx2_kernels();    // x86-64 only
const KernelTable& avx512_kernels();  // x86-64 only

// Those that this machine can run, slowest first; never empty.
std::span<const KernelTable* const> available_kernels();

}  // namespace cakejit::host
