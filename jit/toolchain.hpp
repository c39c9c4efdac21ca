// NVRTC and nvJitLink, found and opened at run time. Nothing here is touched before the first compile.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "jit/nvrtc_api.hpp"
#include "runtime/base/dynamic_library.hpp"

namespace cakejit::jit {

// Where to look, in order: `explicit_path` alone if it is not empty (a folder with the libraries, or a toolkit's or a
// virtual environment's root); else the loader's own search path, then each hint, then /usr/local/cuda and /usr/local/cuda-*.
struct ToolchainSearch {
  std::filesystem::path explicit_path;
  std::vector<std::filesystem::path> hints;
  bool loader_path = true;
};

struct Version {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};

// The opened toolchain. Immutable and shared by threads; NVRTC programs and link jobs are per compile.
struct Toolchain {
  NvrtcApi nvrtc;
  NvJitLinkApi nvjitlink;
  Version nvrtc_version;
  Version nvjitlink_version;
  std::filesystem::path nvrtc_path;
  std::filesystem::path nvjitlink_path;
  std::vector<int> nvrtc_archs;  // nvrtcGetSupportedArchs: 75, 80, ...
  std::vector<std::shared_ptr<DynamicLibrary>> libraries;  // keep the code mapped
};

// Throws Error(TOOLCHAIN_MISSING) that lists every place looked at and what was wrong there, and how to install one.
std::shared_ptr<const Toolchain> open_toolchain(const ToolchainSearch& search);

}  // namespace cakejit::jit
