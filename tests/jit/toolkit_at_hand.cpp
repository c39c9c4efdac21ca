#include "tests/jit/toolkit_at_hand.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "cakejit/error.hpp"
#include "runtime/base/config.hpp"

namespace cakejit::jit::testing {

std::shared_ptr<const Toolchain> toolkit_at_hand() {
  const Config config = Config::from_environment();
  try {
    return open_toolchain({.explicit_path = config.toolkit_path.value_or(""), .hints = config.toolkit_hints});
  } catch (const Error& error) {
    WARN("SKIPPED: " << error.what());
    return nullptr;
  }
}

CompileRequest sample_request(const std::string& name, const std::string& target) {
  static constexpr const char* kSource = R"(
constexpr int kChannels = 4096;
extern "C" __global__ void __launch_bounds__(128) {0}_forward(const float* x, float* y, long long n) {{
  __shared__ float rows[256];
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  rows[threadIdx.x] = x[i % n];
  __syncthreads();
  const float z = rows[(threadIdx.x + 1) & 127];
  if (i < n) y[i] = z / (1.f + __expf(-z)) * kChannels;
}}
extern "C" __global__ void {0}_reduce(float* y) {{
  volatile float parts[100];
  for (int i = 0; i < 100; i++) parts[i] = y[i];
  float sum = 0;
  for (int i = 0; i < 100; i++) sum += parts[(i * 7 + (int)y[0]) % 100];
  y[0] = sum;
}}
)";
  return {.name = name,
          .source = fmt::format(fmt::runtime(kSource), name),
          .target = find_target(target),
          .compile_options = {},
          .link_options = {},
          .entry_symbols = {name + "_forward", name + "_reduce"}};
}

}  // namespace cakejit::jit::testing
