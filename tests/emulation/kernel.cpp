#include "tests/emulation/kernel.hpp"

#include <map>

#include "kernels/launch_params.h"

namespace cakejit::emulation {
namespace {

// Filled by constructors of static objects, so made on first use.
std::map<std::string_view, Kernel>& kernels() {
  static std::map<std::string_view, Kernel> all;
  return all;
}

Operand dense(const char* name, const void* pointer, Use use, std::int64_t bytes) {
  return {name, pointer, use, bytes == 0 ? 0 : 1, bytes, bytes};
}

Operand rows(const char* name, const void* pointer, Use use, const KernelShape& shape, std::int64_t tokens,
             std::int64_t row_stride) {
  return {name, pointer, use, tokens, shape.channels * shape.element_bytes, row_stride * shape.element_bytes};
}

Operand parameter(const char* name, const void* pointer, Use use, const KernelShape& shape, std::int64_t elements,
                  int is_fp32) {
  return dense(name, pointer, use, elements * (is_fp32 != 0 ? 4 : shape.element_bytes));
}

Operand partial_sums(const float* pointer, Use use, const KernelShape& shape, std::int64_t strips) {
  return dense("partials", pointer, use, strips * (shape.has_bias ? 5 : 4) * shape.channels * 4);
}

Operand offsets(const cakejit_kernels::Documents& documents) {
  return dense("cu_seqlens", documents.cu_seqlens, kRead, (documents.count + 1) * (documents.is_int64 != 0 ? 8 : 4));
}

std::vector<Operand> forward_operands(const KernelShape& shape, const void* params) {
  const auto& p = *static_cast<const cakejit_kernels::ForwardParams*>(params);
  std::vector<Operand> operands = {
      rows("x", p.x, kRead, shape, p.tokens, p.x_row_stride),
      rows("y", p.y, kWrite, shape, p.tokens, p.y_row_stride),
      parameter("weight", p.weight, kRead, shape, shape.channels * 4, p.weight_is_fp32),
      offsets(p.documents),
  };
  if (shape.has_bias) operands.push_back(parameter("bias", p.bias, kRead, shape, shape.channels, p.bias_is_fp32));
  return operands;
}

std::vector<Operand> backward_operands(const KernelShape& shape, const void* params) {
  const auto& p = *static_cast<const cakejit_kernels::BackwardParams*>(params);
  const std::int64_t strips = (p.tokens + p.strip_tokens - 1) / p.strip_tokens;
  std::vector<Operand> operands = {
      rows("x", p.x, kRead, shape, p.tokens, p.x_row_stride),
      rows("dy", p.dy, kRead, shape, p.tokens, p.dy_row_stride),
      rows("dx", p.dx, kWrite, shape, p.tokens, p.dx_row_stride),
      parameter("weight", p.weight, kRead, shape, shape.channels * 4, p.weight_is_fp32),
      partial_sums(p.partials, kWrite, shape, strips),
      offsets(p.documents),
  };
  if (shape.has_bias) operands.push_back(parameter("bias", p.bias, kRead, shape, shape.channels, p.bias_is_fp32));
  return operands;
}

std::vector<Operand> reduce_operands(const KernelShape& shape, const void* params) {
  const auto& p = *static_cast<const cakejit_kernels::ReduceParams*>(params);
  std::vector<Operand> operands = {
      partial_sums(p.partials, kRead, shape, p.strips),
      parameter("dweight", p.dweight, kWrite, shape, shape.channels * 4, p.dweight_is_fp32),
  };
  if (shape.has_bias) operands.push_back(parameter("dbias", p.dbias, kWrite, shape, shape.channels, p.dbias_is_fp32));
  return operands;
}

using Operands = std::vector<Operand> (*)(const KernelShape& shape, const void* params);

void add(const CompiledKernel& code, bool reads_unfilled_shared, const KernelShape& shape, Operands operands) {
  kernels()[code.symbol] = {code, reads_unfilled_shared, [=](const void* params) { return operands(shape, params); }};
}

}  // namespace

void add_forward(const CompiledKernel& code, const KernelShape& shape) {
  add(code, true, shape, forward_operands);
}

void add_backward(const CompiledKernel& code, const KernelShape& shape) {
  add(code, true, shape, backward_operands);
}

void add_reduce(const CompiledKernel& code, const KernelShape& shape) {
  add(code, false, shape, reduce_operands);
}

const Kernel* find_kernel(std::string_view symbol) {
  const auto found = kernels().find(symbol);
  return found == kernels().end() ? nullptr : &found->second;
}

}  // namespace cakejit::emulation
