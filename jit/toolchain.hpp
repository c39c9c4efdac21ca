// NVRTC and nvJitLink, found and opened at run time. Nothing here is touched before the first compile.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "jit/nvrtc_api.hpp"
#include "runtime/base/dynamic_library.hpp"

namespace cakejit::jit {

// Where to look, in order: `explicit_path` alone if it is not empty; else the loader's own search path, then each hint,
// then the folders named cuda, and cuda-<version> (newest first), below each of `toolkit_parents`.
// A path may be a folder with the libraries, a toolkit's root, a virtual environment's root or a site-packages folder.
struct ToolchainSearch {
  std::filesystem::path explicit_path = {};
  std::vector<std::filesystem::path> hints = {};
  bool loader_path = true;
  std::vector<std::filesystem::path> toolkit_parents = {"/usr/local", "/opt"};
};

// nvJitLink alone: what a portable library needs to become code for a target. Immutable and shared by threads, as
// Toolchain is; link jobs are per link.
struct Linker {
  NvJitLinkApi nvjitlink{};
  Version version;
  std::filesystem::path path;
  std::shared_ptr<DynamicLibrary> library;  // keeps the code mapped
};

// NVRTC with nvJitLink. NVRTC programs are per compile.
struct Toolchain {
  NvrtcApi nvrtc{};
  Version nvrtc_version;
  std::filesystem::path nvrtc_path;
  std::vector<int> nvrtc_archs;                            // nvrtcGetSupportedArchs: 75, 80, ...
  std::vector<std::shared_ptr<DynamicLibrary>> libraries;  // keep NVRTC's code mapped
  Linker linker;  // same major as NVRTC, and not older: else it can't read NVRTC's LTO-IR
};

// Both throw Error(TOOLCHAIN_MISSING) that lists every place looked at and what was wrong there, and how to install one.
std::shared_ptr<const Toolchain> open_toolchain(const ToolchainSearch& search);
std::shared_ptr<const Linker> open_linker(const ToolchainSearch& search);

}  // namespace cakejit::jit
