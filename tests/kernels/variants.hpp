// The kernel libraries that the tests compile: every route for sm_90a, the main ones for every other target.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jit/toolchain.hpp"
#include "runtime/program.hpp"

namespace cakejit::runtime::testing {

// Calls body(0), ..., body(count - 1), two at a time.
void in_two_threads(std::size_t count, const std::function<void(std::size_t)>& body);

struct Variant {
  const jit::Target* target = nullptr;
  Specialization specialization;

  [[nodiscard]] int element_bytes() const { return specialization.dtype == CAKE_DTYPE_FP32 ? 4 : 2; }
  [[nodiscard]] int packet_bytes() const { return specialization.vector_channels * element_bytes(); }
  // "sm_90a backward fp32, 8-byte packets, bias, silu"
  [[nodiscard]] std::string text() const;
};

// Dtypes x packet widths x passes x bias, with the identity for some.
std::vector<Variant> every_route(const jit::Target& target);
// A bias and SiLU on every dtype's widest packets, and on bf16's narrower ones.
std::vector<Variant> main_routes(const jit::Target& target);

struct Built {
  Variant variant;
  Program program;
  cache::Entry entry;  // without code when `error` says why
  std::string error;
};

// In two threads, in the variants' order.
std::vector<Built> build_all(const std::vector<Variant>& variants, const jit::Toolchain& toolchain);

// The toolchain that this machine offers; nullptr, after a WARN that says SKIPPED, where there is none.
std::shared_ptr<const jit::Toolchain> toolchain_at_hand();
// That of CAKEJIT_TEST_NEW_TOOLKIT, which knows the newest target; nullptr, after a WARN, where it is not set.
std::shared_ptr<const jit::Toolchain> newest_toolchain();

}  // namespace cakejit::runtime::testing
