// A specialised kernel library before it is compiled: which variant, its text, its digest, its name.
// Pure functions of values: no GPU, no toolchain, no file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cache/digest.hpp"
#include "cache/store.hpp"
#include "cakejit/cake_causal_conv1d_det_train.h"
#include "jit/compile.hpp"
#include "jit/target.hpp"

namespace cakejit::runtime {

enum class Pass { kForward, kBackward };

// Everything a kernel template is specialised on. Shapes other than C, strides, the dtypes of parameters, their
// gradients and of cu_seqlens are launch arguments: nothing is compiled anew because of them.
struct Specialization {
  Pass pass = Pass::kForward;
  std::int64_t channels = 0;
  cake_dtype dtype = CAKE_DTYPE_BF16;  // x, y, dy, dx
  bool has_bias = false;
  cake_activation activation = CAKE_ACTIVATION_SILU;
  // The tile, chosen by the route:
  int vector_channels = 4;  // neighbouring channels of one thread, and of one memory access
  int block_threads = 128;
  int group_rows = 4;   // rows of one cp.async group
  int ring_groups = 4;  // groups of the shared-memory ring

  friend bool operator==(const Specialization&, const Specialization&) = default;
  friend auto operator<=>(const Specialization&, const Specialization&) = default;
};

struct Program {
  std::string name;  // cake_causal_conv1d_det_train_<digest>
  cache::Digest digest;
  cache::KeyRecord key;
  jit::Target target;  // a portable one: the library is LTO-IR
  Specialization specialization;
  std::string source;                      // complete CUDA C++ text, entry symbols named
  std::vector<std::string> entry_symbols;  // <name>_forward, or <name>_backward and <name>_reduce
  std::vector<std::string> compile_options;
  std::vector<std::string> link_options;
  std::map<std::string, std::string> description;  // the specialisation for people and manifests
};

// `target` may be one that devices run or a portable one (jit::portable_target).
Program make_program(const Specialization& specialization, const jit::Target& target);
// The LTO-IR from which `program` can be linked where there is no compiler.
Program portable_program(const Program& program);

// The cache's question for a program. Code that lacks one of its kernels is no answer.
cache::Request cache_request(const Program& program);
// The answer when it has to be compiled, or linked from the portable library. Throw as jit::compile and jit::link do.
cache::Entry build_entry(const Program& program, const jit::Toolchain& toolchain);
cache::Entry finalize_entry(const Program& program, const cache::Entry& portable, const jit::Linker& linker);

// What the kernels are called in an entry for this program: code linked from a portable library keeps that one's names.
std::vector<std::string> kernel_symbols(const Program& program, const cache::Manifest& manifest);

}  // namespace cakejit::runtime
