// The device's limits, measured by kernels that do nothing but move the same bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/toolchain.hpp"
#include "runtime/driver/loaded_library.hpp"
#include "tools/bench/measure.hpp"
#include "tools/bench/workload.hpp"

namespace cakejit::bench {

class Limits {
 public:
  // Compiles bench/limits.cu for the device in a few unrollings.
  Limits(const device::Device& device, const jit::Toolchain& toolchain);

  // x -> y by each copy kernel and by the driver's own copy; x, dy -> dx by each 2-read-1-write kernel. The tensors are
  // those that the measured kernels use. The returned candidates refer to this object.
  [[nodiscard]] std::vector<Candidate> copies(const Arena::Tensors& tensors) const;
  [[nodiscard]] std::vector<Candidate> adds(const Arena::Tensors& tensors) const;

 private:
  struct Variant {
    std::string name;
    int unroll;
    std::unique_ptr<driver::LoadedLibrary> library;
  };

  const device::Device& device_;
  std::vector<Variant> variants_;
};

}  // namespace cakejit::bench
