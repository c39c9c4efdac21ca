// GPU targets this project builds for, and the compute levels of portable code.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cakejit::jit {

struct Target {
  std::string_view name;     // "sm_90a"; nvJitLink's -arch. Of portable code: "compute_90"
  int compute_major;         // of the device it runs on: 9
  int compute_minor;         // 0
  std::string_view compute;  // NVRTC's -arch for LTO-IR: "compute_90a"
  std::string_view
      first_nvrtc;  // the release from which NVRTC + nvJitLink build it: "12.0" (measured: docs/toolchain.md)

  // LTO-IR, which nvJitLink makes into code for each later target; no code that a GPU runs.
  [[nodiscard]] constexpr bool is_portable() const { return name == compute; }
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

// The compute level whose portable code serves this target: compute_90 from sm_90a on, where the reduction waits for its
// grid dependency; compute_80 for earlier ones.
const Target& portable_target(const Target& target);

// "sm_80, sm_86, ...", for messages.
std::string target_names();

}  // namespace cakejit::jit
