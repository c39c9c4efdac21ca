// What a command line asks for, worked out to the kernel libraries that serve it.
#pragma once

#include <string>
#include <vector>

#include "runtime/program.hpp"
#include "tools/aot/options.hpp"

namespace cakejit::tools::aot {

struct PlanItem {
  runtime::Program program;
  std::vector<std::string> requested_by;  // "--channels 4096", "config.json: q_conv", ...
};

// One item per library, however many requests it serves, in the order they were asked for. Reads the files that the
// options name, nothing else. Throws Error(INVALID_ARGUMENT).
std::vector<PlanItem> make_plan(const Options& options);

}  // namespace cakejit::tools::aot
