// What a call launches, once everything that can fail has been done: kernels, grids, and the arithmetic they rest on.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "runtime/driver/loaded_library.hpp"
#include "runtime/program.hpp"
#include "runtime/validate.hpp"

namespace cakejit::runtime {

// Immutable once built; shared by threads.
struct LaunchPlan {
  Specialization specialization;
  bool programmatic_launch = false;  // the reduction may be scheduled while the backward drains (sm_90 and later)
  int strip_tokens = 0;
  std::int64_t strips = 0;
  unsigned blocks = 0;         // of the forward or backward kernel; 0: nothing to launch
  unsigned reduce_blocks = 0;  // backward only
  std::shared_ptr<const driver::LoadedLibrary> library;
};

// `strip_tokens` > 0, a multiple of 4 (runtime/route.hpp). Throws Error(UNSUPPORTED) if a grid would exceed the limits.
LaunchPlan make_launch_plan(const Problem& problem, const Specialization& specialization, const jit::Target& target,
                            int strip_tokens, std::shared_ptr<const driver::LoadedLibrary> library);

// Fills the kernels' arguments and launches on `stream`. Nothing here allocates, synchronises or compiles.
void launch_forward(const driver::DriverApi& driver, const LaunchPlan& plan, const Problem& problem,
                    const ForwardArgs& args, driver::StreamHandle stream);
void launch_backward(const driver::DriverApi& driver, const LaunchPlan& plan, const Problem& problem,
                     const BackwardArgs& args, driver::StreamHandle stream);

// Bytes of the strips' partial sums, [strips, 4 (+1 with bias), channels] fp32: enough for every route and GPU.
std::size_t device_backward_workspace_bytes(const Problem& problem);

// Largest power of two, at most 16, that divides the byte address of every row of every tensor of the pass; in the
// third form, of tensors whose first rows are aligned to `pointers` bytes, a power of two.
std::size_t row_alignment(const Problem& problem, const ForwardArgs& args);
std::size_t row_alignment(const Problem& problem, const BackwardArgs& args);
std::size_t row_alignment(const Problem& problem, Pass pass, std::size_t pointers);

}  // namespace cakejit::runtime
