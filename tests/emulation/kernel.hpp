// A kernel that the host compiler has compiled, and the list of all of them in this process.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/emulation/memory.hpp"

namespace cakejit::emulation {

struct Kernel {
  std::string symbol;
  void (*entry)(const void* params);  // runs the calling emulated thread
  std::size_t params_bytes;
  // All __shared__ variables.
  std::byte* shared_begin;
  std::byte* shared_end;
  // The rings' rows outside a strip are never filled, but read and then not used. Such reads give random bytes, others are
  // violations.
  bool reads_unfilled_shared;
  std::function<std::vector<Operand>(const void* params)> operands;
};

void add_kernel(Kernel kernel);
const Kernel* find_kernel(std::string_view symbol);  // nullptr if there is none such

// What the kernels of runtime/ are specialised on, as far as it decides what they may touch.
struct KernelShape {
  std::int64_t channels;
  int element_bytes;
  bool has_bias;
};

// `params` are those of kernels/launch_params.h.
std::vector<Operand> forward_operands(const KernelShape& shape, const void* params);
std::vector<Operand> backward_operands(const KernelShape& shape, const void* params);
std::vector<Operand> reduce_operands(const KernelShape& shape, const void* params);

}  // namespace cakejit::emulation
