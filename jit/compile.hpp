// One compile: CUDA C++ text -> NVRTC -> LTO-IR -> nvJitLink -> cubin, with the facts the linker reports. Or in two halves
// at two places: LTO-IR that serves a family of targets, and later its link for the one at hand.
#pragma once

#include <string>
#include <vector>

#include "jit/kernel_facts.hpp"
#include "jit/target.hpp"
#include "jit/toolchain.hpp"

namespace cakejit::jit {

struct CompileRequest {
  std::string name;                          // shown in the compiler's log as the file's name (<name>.cu)
  std::string source;                        // complete: no #include is resolved from any file
  Target target;
  std::vector<std::string> compile_options;  // beyond -arch, -dlto, and -std=c++20 unless a -std is among them
  std::vector<std::string> link_options;     // beyond -arch and -lto
  std::vector<std::string> entry_symbols;    // every kernel the result must hold
};

struct LinkRequest {
  std::string name;                        // shown in messages
  std::string lto_ir;
  std::string compiler;                    // that made the LTO-IR, for messages
  Target target;
  std::vector<std::string> link_options;   // beyond -arch and -lto
  std::vector<std::string> entry_symbols;  // every kernel the result must hold
};

struct LinkedLibrary {
  std::string cubin;
  std::vector<KernelFacts> kernels;  // in entry_symbols' order
  std::string linker;                // "nvJitLink 13.0"
  double link_ms = 0;
};

struct CompiledLibrary : LinkedLibrary {
  std::string lto_ir;
  std::string compiler;   // "NVRTC 13.0"
  double compile_ms = 0;  // NVRTC's share
};

// What a manifest calls this toolchain's compiler: "NVRTC 13.0".
std::string compiler_label(const Toolchain& toolchain);

// Compiles and links, without the hidden caches of NVRTC and nvJitLink and without precompiled headers: the same
// request gives the same bytes, and no file is read or written. Thread-safe; calls run in parallel. Throws Error:
//  - UNSUPPORTED: the toolchain doesn't know the target (lists what it knows, its version, its path, what is needed);
//  - COMPILE_FAILED: the compiler's or linker's log, the name; or a kernel of entry_symbols is missing.
// For a portable target the LTO-IR is the result; it is linked for the family's oldest target as well, which proves it.
CompiledLibrary compile(const Toolchain& toolchain, const CompileRequest& request);

// The second half alone. The same promises, the same errors.
LinkedLibrary link(const Linker& linker, const LinkRequest& request);

}  // namespace cakejit::jit
