// The whole operation on the emulated GPU, through the C ABI of the shared library: validation, route, cache, launch
// plan, and the very kernels.
#include <catch2/catch.hpp>

#include "tests/emulation/cases.hpp"
#include "tests/emulation/emulated_context.hpp"
#include "tests/support/operation_sweep.hpp"

using namespace cakejit::emulation;
using cakejit::test::check_all;

namespace {

void check(const std::vector<OperationCase>& cases) {
  EmulatedExecutor executor;
  const EmulatedContext context;
  check_all(executor, cases, context.get());
}

}  // namespace

TEST_CASE("emulated, every combination of types and options agrees with float64") {
  check(option_cases());
}

TEST_CASE("emulated, any number of tokens around a strip's end agrees with float64") {
  check(token_cases(1));
}

TEST_CASE("emulated, any number of channels agrees with float64") {
  check(channel_cases());
}

TEST_CASE("emulated, documents that begin and end anywhere agree with float64") {
  check(document_cases());
}

TEST_CASE("emulated, none of the faults known from elsewhere happens") {
  check(known_faults());
}
