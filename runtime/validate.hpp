// Every argument of a call, checked before anything is touched. Throws Error(INVALID_ARGUMENT) or Error(UNSUPPORTED);
// the message names the argument, what it was and what it must be.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cakejit/cake_causal_conv1d_det_train.h"

namespace cakejit::runtime {

using Problem = cake_causal_conv1d_det_train_problem;
using ForwardArgs = cake_causal_conv1d_det_train_forward_args;
using BackwardArgs = cake_causal_conv1d_det_train_backward_args;

// `passes`: cake_pass values or-ed; only the fields that these passes use are looked at.
void validate_problem(const Problem& problem, std::uint32_t passes);

// The problem must have been validated. `workspace_needed` in bytes.
void validate_forward_args(const Problem& problem, const ForwardArgs& args, std::size_t workspace_needed);
void validate_backward_args(const Problem& problem, const BackwardArgs& args, std::size_t workspace_needed);

// cu_seqlens in host memory: starts at 0, never decreases, ends at problem.tokens. O(documents).
void validate_cu_seqlens(const Problem& problem, const void* cu_seqlens);

std::size_t dtype_bytes(cake_dtype dtype);  // 0 for codes that are none

}  // namespace cakejit::runtime
