// Builds the libraries of a plan that a cache lacks, several at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/store.hpp"
#include "jit/toolchain.hpp"
#include "tools/aot/plan.hpp"

namespace cakejit::tools::aot {

enum class State { kPresent, kMissing, kBuilt, kFailed };

struct Outcome {
  State state = State::kMissing;
  std::string error;                        // kFailed
  std::optional<cache::Manifest> manifest;  // kPresent, kBuilt
};

// Which of the plan's libraries `store` holds, verified: one outcome per item.
std::vector<Outcome> find_present(const std::vector<PlanItem>& plan, const cache::Store& store);

struct BuildControl {
  int jobs = 1;
  std::function<bool()> stop;                                          // asked before each build
  std::function<void(std::size_t done, std::size_t failed)> progress;  // from the calling thread, now and then
};

// Builds every item that is kMissing in `outcomes` and publishes it to `store`. A failure is noted and the others go
// on. After a stop, what was not begun stays kMissing.
void build_missing(const std::vector<PlanItem>& plan, std::vector<Outcome>& outcomes, const cache::Store& store,
                   const jit::Toolchain& toolchain, const std::shared_ptr<spdlog::logger>& log,
                   const BuildControl& control);

}  // namespace cakejit::tools::aot
