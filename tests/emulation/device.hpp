// The emulated GPU of this process, as tests see it. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "tests/emulation/grid.hpp"
#include "tests/support/executor.hpp"

namespace cakejit::emulation {

class Device {
 public:
  // "", or the violation; it is kept as last_violation() too.
  std::string launch(const Kernel& kernel, const LaunchShape& shape, const void* params);

  [[nodiscard]] GlobalMemory& memory() { return state_.memory; }
  [[nodiscard]] const std::string& last_violation() const { return last_violation_; }
  [[nodiscard]] std::uint64_t launches() const { return launches_; }

  // Each launch has a schedule of its own: a function of this and of how many were before it.
  void set_seed(std::uint64_t seed) { seed_ = seed; }
  // Decides how the route cuts a backward into strips. 1: long ones.
  int multiprocessors = 1;

 private:
  DeviceState state_;
  std::uint64_t seed_ = 0;
  std::uint64_t launches_ = 0;
  std::string last_violation_;
};

Device& device();

// Memory of the emulated GPU for the operation's checks.
class EmulatedExecutor final : public test::Executor {
 public:
  void* allocate(std::size_t bytes) override { return emulation::device().memory().allocate(bytes); }
  void free(void* memory) noexcept override { emulation::device().memory().free(memory); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    emulation::device().memory().upload(to, from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) override;
  void synchronize() override {}
  [[nodiscard]] cake_device device() const override { return CAKE_DEVICE_CUDA; }
  [[nodiscard]] cake_stream stream() const override { return nullptr; }
};

}  // namespace cakejit::emulation
