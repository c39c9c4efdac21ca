// The folders in which NVRTC and nvJitLink may lie below a path that a user or the system names.
#pragma once

#include <filesystem>
#include <vector>

namespace cakejit::jit {

// One folder each; the same folder in a toolkit, two in pip's packages for CUDA 12.
struct ToolchainPlace {
  std::filesystem::path nvrtc;
  std::filesystem::path nvjitlink;

  friend bool operator==(const ToolchainPlace&, const ToolchainPlace&) = default;
};

// Folders that exist, likeliest first. `root`: a folder with the libraries, a toolkit's root, a virtual environment's
// root, a site-packages folder. Empty when `root` doesn't exist or holds none of these.
std::vector<ToolchainPlace> toolchain_places(const std::filesystem::path& root);

// <parent>/cuda, then <parent>/cuda-<major>.<minor>, newest first. Those that exist.
std::vector<std::filesystem::path> toolkit_roots(const std::filesystem::path& parent);

}  // namespace cakejit::jit
