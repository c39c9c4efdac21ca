// A kernel that can be launched, and the list of those that were compiled for the emulation.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tests/emulation/kernel_view/calls.hpp"
#include "tests/emulation/memory.hpp"

namespace cakejit::emulation {

struct Kernel {
  CompiledKernel code;
  // The rings' rows outside a strip are never filled, but read and then not used. Such reads give random bytes, others
  // are violations.
  bool reads_unfilled_shared;
  std::function<std::vector<Operand>(const void* params)> operands;
};

const Kernel* find_kernel(std::string_view symbol);  // nullptr if there is none such

}  // namespace cakejit::emulation
