#include "tests/emulation/device.hpp"

#include <cstring>

namespace cakejit::emulation {

std::string Device::launch(const Kernel& kernel, const LaunchShape& shape, const void* params) {
  const std::uint64_t seed = Dice(seed_ ^ Dice(launches_++).roll()).roll();
  last_violation_ = Grid(state_, kernel, shape, params, seed).run();
  return last_violation_;
}

Device& device() {
  static Device the_device;
  return the_device;
}

void EmulatedExecutor::download(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

}  // namespace cakejit::emulation
