// A context of the C ABI whose kernels are the emulated ones; it never compiles.
#pragma once

#include <catch2/catch.hpp>

#include "cakejit/cakejit.h"
#include "tests/emulation/device.hpp"

namespace cakejit::emulation {

class EmulatedContext {
 public:
  EmulatedContext() {
    cake_context_options options{};
    options.struct_size = sizeof options;
    options.aot_path = CAKEJIT_EMULATED_AOT;
    options.jit = "off";
    REQUIRE(cake_context_create(&options, &context_) == CAKE_STATUS_OK);
  }
  ~EmulatedContext() { cake_context_destroy(context_); }
  EmulatedContext(const EmulatedContext&) = delete;
  EmulatedContext& operator=(const EmulatedContext&) = delete;

  [[nodiscard]] cake_context* get() const { return context_; }

 private:
  cake_context* context_ = nullptr;
};

}  // namespace cakejit::emulation
