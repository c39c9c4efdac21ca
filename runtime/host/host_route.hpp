// The operation on the CPU: vectorised, threaded, and bit for bit independent of the number of threads.
// Arguments are validated by the caller (runtime/validate.hpp); pointers are host memory.
#pragma once

#include <cstddef>

#include "cakejit/cake_causal_conv1d_det_train.h"

namespace cakejit::host {

struct KernelTable;  // kernels.hpp

using Problem = cake_causal_conv1d_det_train_problem;

// `threads` >= 1. Returns when all is written. Throws nothing but std::bad_alloc / std::system_error. `kernels`: those
// of the best instruction set that this machine has, unless a test asks for others.
void forward(const Problem& problem, const cake_causal_conv1d_det_train_forward_args& args, int threads,
             const KernelTable* kernels = nullptr);
void backward(const Problem& problem, const cake_causal_conv1d_det_train_backward_args& args, int threads,
              const KernelTable* kernels = nullptr);

// Scratch for the partial sums of dweight and dbias: fp32, independent of the number of threads.
std::size_t backward_workspace_bytes(const Problem& problem);

}  // namespace cakejit::host
