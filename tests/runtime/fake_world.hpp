// A driver, a toolchain and a builder that do nothing but count, and fail where a test says so.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "cakejit/error.hpp"
#include "runtime/context.hpp"

namespace cakejit::test {

using namespace cakejit::runtime;

inline constexpr driver::Result kFakeError = 999;

// The world outside, as one test sees it. The driver's functions are plain pointers, so their state is static.
struct World {
  std::string failing_step;  // "" when all is well
  int failing_call = 1;      // which call of that step fails
  int calls_of_failing_step = 0;
  int libraries_loaded = 0;  // loads minus unloads
  int launches = 0;
  int builds = 0;
  int finals = 0;  // links of portable libraries
  int toolchains_opened = 0;
  int linkers_opened = 0;
  std::set<std::string> kernels_taken;  // names asked of cuLibraryGetKernel
  bool capturing = false;

  [[nodiscard]] bool fails(const std::string& step) {
    return step == failing_step && ++calls_of_failing_step == failing_call;
  }
  driver::Result result(const std::string& step) { return fails(step) ? kFakeError : driver::kSuccess; }
};

extern World world;

// What a sound build of the program would give, with code that is none.
cache::Entry fake_entry(const Program& program);
Effects fake_effects();
// No layer on disk, no log.
Config memory_only();

// 64 channels of bf16 on a GPU.
Problem make_problem(std::int64_t tokens = 600);
// One call with addresses that nothing reads.
void call(Context& context, Pass pass, const Problem& problem = make_problem());
std::optional<Error> error_of(Context& context, Pass pass);

}  // namespace cakejit::test
