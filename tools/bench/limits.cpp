#include "tools/bench/limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/embedded.hpp"
#include "cakejit/error.hpp"
#include "jit/compile.hpp"

namespace cakejit::bench {
namespace {

constexpr unsigned kThreads = 512;  // of bench/limits.cu
constexpr int kUnrolls[] = {1, 2, 4, 8};

unsigned whole_grid(std::size_t words, int unroll) {
  const std::size_t tile = std::size_t{kThreads} * static_cast<std::size_t>(unroll);
  return static_cast<unsigned>(std::min<std::size_t>((words + tile - 1) / tile, 0x7fffffff));
}

void launch(const driver::DriverApi& driver, driver::KernelHandle kernel, unsigned blocks, driver::StreamHandle stream,
            void** parameters) {
  const driver::LaunchConfig config{.grid_x = blocks,
                                    .grid_y = 1,
                                    .grid_z = 1,
                                    .block_x = kThreads,
                                    .block_y = 1,
                                    .block_z = 1,
                                    .shared_bytes = 0,
                                    .stream = stream,
                                    .attributes = nullptr,
                                    .attribute_count = 0};
  driver.check(driver.LaunchKernelEx(&config, kernel, parameters, nullptr), "cuLaunchKernelEx(limit)");
}

}  // namespace

Limits::Limits(const device::Device& device, const jit::Toolchain& toolchain) : device_(device) {
  const auto target = jit::target_for_device(device.facts().compute_major, device.facts().compute_minor);
  if (!target) throw Error(CAKE_STATUS_UNSUPPORTED, fmt::format("no target for {}", device.facts().name));
  const std::vector<std::string> symbols = {"limit_copy", "limit_add"};
  for (const int unroll : kUnrolls) {
    const auto compiled = jit::compile(
        toolchain, {.name = fmt::format("limits_{}", unroll),
                    .source = fmt::format("constexpr int kUnroll = {};\n{}", unroll, embedded_sources().front().text),
                    .target = *target,
                    .compile_options = {},
                    .link_options = {},
                    .entry_symbols = symbols});
    variants_.push_back({fmt::format("kernel x{}", unroll), unroll,
                         std::make_unique<driver::LoadedLibrary>(driver::open_driver(), compiled.cubin, symbols)});
  }
}

std::vector<Candidate> Limits::copies(const Arena::Tensors& tensors) const {
  const void* x = tensors.forward.x;
  void* y = tensors.forward.y;
  std::vector<Candidate> candidates;
  candidates.push_back({"driver copy", [this, x, y, bytes = tensors.tensor_bytes](const device::Stream& stream) {
                          device_.check(device_.api().MemcpyDtoDAsync(reinterpret_cast<device::DevicePointer>(y),
                                                                      reinterpret_cast<device::DevicePointer>(x), bytes,
                                                                      stream.handle()),
                                        "cuMemcpyDtoDAsync");
                        }});
  for (const Variant& variant : variants_) {
    candidates.push_back(
        {variant.name, [this, x, y, &variant, words = tensors.tensor_bytes / 16](const device::Stream& stream) {
           const void* in = x;
           void* out = y;
           auto count = static_cast<long long>(words);
           void* parameters[] = {&in, &out, &count};
           launch(device_.driver(), variant.library->kernel(0), whole_grid(words, variant.unroll), stream.handle(),
                  parameters);
         }});
  }
  return candidates;
}

std::vector<Candidate> Limits::adds(const Arena::Tensors& tensors) const {
  std::vector<Candidate> candidates;
  for (const Variant& variant : variants_) {
    candidates.push_back({variant.name, [this, args = tensors.backward, &variant,
                                         words = tensors.tensor_bytes / 16](const device::Stream& stream) {
                            const void* a = args.x;
                            const void* b = args.dy;
                            void* out = args.dx;
                            auto count = static_cast<long long>(words);
                            void* parameters[] = {&a, &b, &out, &count};
                            launch(device_.driver(), variant.library->kernel(1), whole_grid(words, variant.unroll),
                                   stream.handle(), parameters);
                          }});
  }
  return candidates;
}

}  // namespace cakejit::bench
