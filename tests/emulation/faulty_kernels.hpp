// Small kernels, one sound and the others each wrong in one way, that prove the emulation's detectors.
#pragma once

#include <cstddef>

#include "tests/emulation/kernel_view/calls.hpp"

namespace cakejit::emulation {

// Blocks of 64 threads; each tensor has a float for each thread of the grid.
constexpr unsigned kFaultyThreads = 64;

struct FaultyParams {
  const float* in;
  float* out;
  float* scratch;  // may be read and written
  unsigned floats;
  const float* nothing = nullptr;
};

struct FaultyKernel {
  CompiledKernel code;
  const char* fault;      // what is wrong, for people
  const char* violation;  // what the emulation must say: a regular expression
  unsigned blocks;
  bool scratch_is_filled;
};

extern const FaultyKernel kFaultyKernels[];
extern const std::size_t kFaultyKernelCount;

// Makes no mistake.
extern const CompiledKernel kSoundKernel;

// Gives what it finds in shared memory that nobody has filled.
extern const CompiledKernel kGarbageKernel;

}  // namespace cakejit::emulation
