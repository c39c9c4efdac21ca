#include "tests/kernels/variants.hpp"

#include <fmt/format.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>
#include <thread>

#include "cakejit/error.hpp"
#include "runtime/base/config.hpp"
#include "runtime/route.hpp"

namespace cakejit::runtime::testing {
namespace {

Variant routed(const jit::Target& target, Pass pass, cake_dtype dtype, std::size_t alignment, bool has_bias,
               cake_activation activation) {
  return {&target, route({.pass = pass,
                          .channels = 4096,
                          .dtype = dtype,
                          .has_bias = has_bias,
                          .activation = activation,
                          .row_alignment = alignment},
                         target)};
}

Built build(const Variant& variant, const jit::Toolchain& toolchain) {
  Built built{variant, make_program(variant.specialization, *variant.target), {}, {}};
  try {
    built.entry = build_entry(built.program, toolchain);
  } catch (const std::exception& error) {
    built.error = error.what();
  }
  return built;
}

}  // namespace

void in_two_threads(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) body(i);
  };
  std::thread other(work);
  work();
  other.join();
}

std::string Variant::text() const {
  const Specialization& s = specialization;
  const char* dtype = s.dtype == CAKE_DTYPE_BF16 ? "bf16" : s.dtype == CAKE_DTYPE_FP16 ? "fp16" : "fp32";
  return fmt::format("{} {} {}, {}-byte packets, {}, {}", target->name,
                     s.pass == Pass::kForward ? "forward" : "backward", dtype, packet_bytes(),
                     s.has_bias ? "bias" : "no bias", s.activation == CAKE_ACTIVATION_SILU ? "silu" : "identity");
}

std::vector<Variant> every_route(const jit::Target& target) {
  std::vector<Variant> variants;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (const cake_dtype dtype : {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16, CAKE_DTYPE_FP32}) {
      for (const std::size_t alignment : {2, 4, 8}) {
        if (dtype == CAKE_DTYPE_FP32 && alignment < 4) continue;
        for (const bool has_bias : {false, true}) {
          variants.push_back(routed(target, pass, dtype, alignment, has_bias, CAKE_ACTIVATION_SILU));
        }
        if (dtype == CAKE_DTYPE_BF16) {
          variants.push_back(routed(target, pass, dtype, alignment, true, CAKE_ACTIVATION_IDENTITY));
        }
      }
    }
  }
  return variants;
}

std::vector<Variant> main_routes(const jit::Target& target) {
  std::vector<Variant> variants;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (const auto& [dtype, alignment] : {std::pair{CAKE_DTYPE_BF16, 8},
                                           {CAKE_DTYPE_BF16, 4},
                                           {CAKE_DTYPE_BF16, 2},
                                           {CAKE_DTYPE_FP16, 8},
                                           {CAKE_DTYPE_FP32, 8}}) {
      variants.push_back(routed(target, pass, dtype, static_cast<std::size_t>(alignment), true, CAKE_ACTIVATION_SILU));
    }
  }
  return variants;
}

std::vector<Built> build_all(const std::vector<Variant>& variants, const jit::Toolchain& toolchain) {
  std::vector<std::optional<Built>> results(variants.size());
  in_two_threads(variants.size(), [&](std::size_t i) { results[i] = build(variants[i], toolchain); });
  std::vector<Built> built;
  for (std::optional<Built>& result : results) built.push_back(std::move(*result));
  return built;
}

std::shared_ptr<const jit::Toolchain> toolchain_at_hand() {
  const Config config = Config::from_environment();
  try {
    return jit::open_toolchain({.explicit_path = config.toolkit_path.value_or(""), .hints = config.toolkit_hints});
  } catch (const Error& error) {
    WARN("SKIPPED: " << error.what());
    return nullptr;
  }
}

std::shared_ptr<const jit::Toolchain> newest_toolchain() {
  const char* path = std::getenv("CAKEJIT_TEST_NEW_TOOLKIT");
  if (path == nullptr) {
    WARN("SKIPPED: set CAKEJIT_TEST_NEW_TOOLKIT to a toolkit that knows sm_107a to compile the kernels for it");
    return nullptr;
  }
  return jit::open_toolchain({.explicit_path = path});
}

}  // namespace cakejit::runtime::testing
