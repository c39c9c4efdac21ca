#include "jit/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cakejit/error.hpp"

namespace cakejit::jit {
namespace {

// first_nvrtc is never below 12.0, the first release with nvJitLink.
constexpr std::array kTargets = {
    Target{"sm_80", 8, 0, "compute_80", "12.0"},      Target{"sm_86", 8, 6, "compute_86", "12.0"},
    Target{"sm_89", 8, 9, "compute_89", "12.0"},      Target{"sm_90a", 9, 0, "compute_90a", "12.0"},
    Target{"sm_100a", 10, 0, "compute_100a", "12.8"}, Target{"sm_103a", 10, 3, "compute_103a", "12.9"},
    Target{"sm_107a", 10, 7, "compute_107a", "13.4"}, Target{"sm_120", 12, 0, "compute_120", "12.8"},
};

constexpr std::array kPortable = {
    Target{"compute_80", 8, 0, "compute_80", "12.0"},
    Target{"compute_90", 9, 0, "compute_90", "12.0"},
};

}  // namespace

std::span<const Target> all_targets() {
  return kTargets;
}

std::string target_names() {
  std::string names;
  for (const Target& target : kTargets) names += fmt::format("{}{}", names.empty() ? "" : ", ", target.name);
  return names;
}

const Target& find_target(std::string_view name) {
  const auto found = std::ranges::find(kTargets, name, &Target::name);
  if (found == kTargets.end()) {
    throw Error(CAKE_STATUS_UNSUPPORTED, fmt::format("unknown GPU target \"{}\"; known are: {}", name, target_names()));
  }
  return *found;
}

const Target& portable_target(const Target& target) {
  return kPortable[target.compute_major < 9 ? 0 : 1];
}

std::optional<Target> target_for_device(int compute_major, int compute_minor) {
  for (const Target& target : kTargets) {
    if (target.compute_major == compute_major && target.compute_minor == compute_minor) return target;
  }
  return std::nullopt;
}

}  // namespace cakejit::jit
