// The operation on the CPU: vectorised, threaded, and bit for bit independent of the number of threads.
// Arguments are validated by the caller (runtime/validate.hpp); pointers are host memory.
#pragma once

#include <cstddef>

#include "cakejit/cake_causal_conv1d_det_train.h"

namespace cakejit::host {

using Problem = cake_causal_conv1d_det_train_problem;

// `threads` >= 1. Returns when all is written. Throws nothing but std::bad_alloc / std::system_error.
void forward(const Problem& problem, const cake_causal_conv1d_det_train_forward_args& args, int threads);
void backward(const Problem& problem, const cake_causal_conv1d_det_train_backward_args& args, int threads);

// Scratch for the partial sums of dweight and dbias: fp32, independent of the number of threads.
std::size_t backward_workspace_bytes(const Problem& problem);

}  // namespace cakejit::host
