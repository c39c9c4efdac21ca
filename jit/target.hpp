// GPU targets this project builds for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cakejit::jit {

struct Target {
  std::string_view name;     // "sm_90a"; nvJitLink's -arch
  int compute_major;         // of the device it runs on: 9
  int compute_minor;         // 0
  std::string_view compute;  // NVRTC's -arch for LTO-IR: "compute_90a"
  std::string_view
      first_nvrtc;  // the release from which NVRTC + nvJitLink build it: "12.0" (measured: docs/toolchain.md)

  // 90 for 9.0: how nvrtcGetSupportedArchs numbers it.
  [[nodiscard]] constexpr int arch() const { return compute_major * 10 + compute_minor; }
};

// All targets, oldest first: sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_103a, sm_107a, sm_120.
std::span<const Target> all_targets();

// Throws Error(UNSUPPORTED) that lists the known names.
const Target& find_target(std::string_view name);

// The target built for devices of exactly this compute capability; nullopt when there is none. Exact, because `a`
// targets run nowhere else, and code of one minor revision is promised to run on a later one for desktop parts only.
std::optional<Target> target_for_device(int compute_major, int compute_minor);

// "sm_80, sm_86, ...", for messages.
std::string target_names();

}  // namespace cakejit::jit
