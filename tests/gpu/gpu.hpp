// The GPU of the tests. Where there is none, each GPU test says so in one line and passes.
#pragma once

#include <catch2/catch.hpp>

#include "tests/support/executor.hpp"
#include "tools/device/device.hpp"

namespace cakejit::test {

// nullptr without a GPU. Opened once; its primary context is current on the thread that first asks.
inline device::Device* gpu() {
  static const auto kDevice = [] {
    std::string why;
    auto device = device::Device::open(0, &why);
    if (!device) WARN("skipped: no GPU (" << why << ")");
    return device;
  }();
  return kDevice.get();
}

class GpuExecutor final : public Executor {
 public:
  explicit GpuExecutor(const device::Device& gpu) : gpu_(gpu), stream_(gpu) {}

  void* allocate(std::size_t bytes) override {
    device::DevicePointer address = 0;
    gpu_.check(gpu_.api().MemAlloc(&address, bytes + 1), "cuMemAlloc");
    return reinterpret_cast<void*>(address);
  }
  void free(void* memory) noexcept override { gpu_.api().MemFree(reinterpret_cast<device::DevicePointer>(memory)); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    gpu_.check(gpu_.api().MemcpyHtoD(reinterpret_cast<device::DevicePointer>(to), from, bytes), "cuMemcpyHtoD");
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    gpu_.check(gpu_.api().MemcpyDtoH(to, reinterpret_cast<device::DevicePointer>(from), bytes), "cuMemcpyDtoH");
  }
  void synchronize() override { stream_.synchronize(); }
  [[nodiscard]] cake_device device() const override { return CAKE_DEVICE_CUDA; }
  [[nodiscard]] cake_stream stream() const override { return stream_.handle(); }
  [[nodiscard]] const device::Stream& cuda_stream() const { return stream_; }

 private:
  const device::Device& gpu_;
  device::Stream stream_;
};

}  // namespace cakejit::test
