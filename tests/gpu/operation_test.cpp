// The operation on the GPU: the same sweeps as on the host, through the C ABI, each pass twice for bit equality.
#include "tests/gpu/gpu.hpp"
#include "tests/support/operation_sweep.hpp"

using namespace cakejit::test;

namespace {

// CAKEJIT_TEST_SWEEP=quick keeps the shapes few: under compute-sanitizer each launch takes a thousand times longer.
SweepSize sweep_size() {
  const char* size = std::getenv("CAKEJIT_TEST_SWEEP");
  return size != nullptr && std::string(size) == "quick" ? SweepSize::kQuick : SweepSize::kFull;
}

}  // namespace

TEST_CASE("on the GPU, any shape with any documents and strides agrees with float64", "[sweep]") {
  if (gpu() == nullptr) return;
  GpuExecutor executor(*gpu());
  constexpr std::uint64_t kSeed = 20260101;
  std::cout << "seed " << kSeed << ": ";
  check_all(executor, shape_sweep(sweep_size(), kSeed));
}

TEST_CASE("on the GPU, every combination of types and options agrees with float64", "[sweep]") {
  if (gpu() == nullptr) return;
  GpuExecutor executor(*gpu());
  check_all(executor, option_sweep());
}

TEST_CASE("on the GPU, none of the faults known from elsewhere happens", "[sweep]") {
  if (gpu() == nullptr) return;
  GpuExecutor executor(*gpu());
  check_all(executor, fault_cases(sweep_size()));
}
