// What one kernel library is specialised on. This file is an example, so that each kernel compiles alone with nvcc; the JIT puts
// generated text of the same form in its place (runtime/program.cpp). Constants, not macros: short macro names
// break NVRTC's built-in header.
#pragma once

#include "launch_params.h"

namespace cakejit_kernels {

constexpr long long kChannels = 4096;
constexpr Dtype kDtype = kBf16;
constexpr bool kHasBias = true;
constexpr bool kSilu = true;
constexpr int kVector = 4;
constexpr int kBlockThreads = 128;
constexpr int kGroupRows = 4;
constexpr int kRingGroups = 4;

}  // namespace cakejit_kernels
