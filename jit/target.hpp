// GPU targets this project builds for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cakejit::jit {

struct Target {
  std::string_view name;      // "sm_90a"
  int compute_major;          // of the device it runs on: 9
  int compute_minor;          // 0
  std::string_view compute;   // NVRTC's -arch for LTO-IR: "compute_90a"
  std::string_view first_nvrtc;  // the NVRTC release that first knows it: "12.0"
};

// All targets, oldest first: sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_103a, sm_107a, sm_120.
std::span<const Target> all_targets();

// Throws Error(UNSUPPORTED) that lists the known names.
const Target& find_target(std::string_view name);

// The target whose code a device of this compute capability runs; nullopt when none does.
std::optional<Target> target_for_device(int compute_major, int compute_minor);

}  // namespace cakejit::jit
