#include "tools/bench/latency.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/context.hpp"
#include "tools/bench/workload.hpp"

namespace cakejit::bench {
namespace {

class Stopwatch {
 public:
  [[nodiscard]] double us() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cake-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::filesystem::filesystem_error("mkdtemp", pattern, {});
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Median host time of one call in batches short enough that the launch queue never fills.
double hot_call_us(const std::function<void()>& call, const device::Stream& stream) {
  constexpr int kBatches = 200;
  constexpr int kCalls = 50;
  std::vector<double> samples;
  for (int batch = 0; batch < kBatches; ++batch) {
    const Stopwatch watch;
    for (int i = 0; i < kCalls; ++i) call();
    samples.push_back(watch.us() / kCalls);
    stream.synchronize();
  }
  return median(std::move(samples));
}

// The stages of one first call, in microseconds.
struct FirstCall {
  double total_us = 0;
  double compile_us = 0;  // NVRTC
  double link_us = 0;     // nvJitLink
  double toolchain_us = 0;
};

FirstCall first_call(const Config& config, const Arena::Tensors& tensors, const device::Stream& stream) {
  FirstCall stages;
  runtime::Effects effects = runtime::Effects::real();
  effects.open_toolchain = [&, real = effects.open_toolchain](const Config& c) {
    const Stopwatch watch;
    auto toolchain = real(c);
    stages.toolchain_us = watch.us();
    return toolchain;
  };
  effects.build = [&, real = effects.build](const runtime::Program& program, const jit::Toolchain& toolchain) {
    cache::Entry entry = real(program, toolchain);
    stages.compile_us = entry.manifest.compile_ms * 1e3;
    stages.link_us = entry.manifest.link_ms * 1e3;
    return entry;
  };
  runtime::Context context(config, effects);
  const Stopwatch watch;
  context.forward(tensors.problem, tensors.forward, stream.handle());
  stages.total_us = watch.us();
  stream.synchronize();
  return stages;
}

}  // namespace

LatencyReport measure_latency(const device::Device& device, const Config& given) {
  const TemporaryFolder folder;
  Config config = given;
  config.cache_dir = folder.path() / "cache";
  config.aot_path.clear();
  const Shape shape{4096, 2048};
  const Options options;
  Arena arena(device, std::span(&shape, 1), options);
  const Arena::Tensors tensors = arena.cut(shape, 0);
  const device::Stream stream(device);

  const FirstCall cold = first_call(config, tensors, stream);
  std::vector<double> warm;
  for (int i = 0; i < 20; ++i) warm.push_back(first_call(config, tensors, stream).total_us);

  runtime::Context context(config);
  const std::string code = [&] {
    const auto target = jit::target_for_device(device.facts().compute_major, device.facts().compute_minor);
    const auto program = runtime::make_program(
        runtime::route({.pass = runtime::Pass::kForward, .channels = shape.channels, .row_alignment = 16}, *target),
        *target);
    cache::Store store(*config.cache_dir, cache::Access::kReadOnly, nullptr);
    return store.load(runtime::cache_request(program)).value().code;
  }();
  std::vector<double> driver_load;
  for (int i = 0; i < 20; ++i) {
    const Stopwatch watch;
    const driver::LoadedLibrary library(driver::open_driver(), code, {});
    driver_load.push_back(watch.us());
  }
  const double forward_us =
      hot_call_us([&] { context.forward(tensors.problem, tensors.forward, stream.handle()); }, stream);
  const double backward_us =
      hot_call_us([&] { context.backward(tensors.problem, tensors.backward, stream.handle()); }, stream);

  const nlohmann::ordered_json json = {
      {"schema", "cake-bench-latency-1"},
      {"gpu", device.facts().name},
      {"hot_forward_us", forward_us},
      {"hot_backward_us", backward_us},
      {"warm_disk_first_call_us", median(warm)},
      {"driver_module_load_us", median(driver_load)},
      {"cold_first_call_us", cold.total_us},
      {"cold_toolchain_open_us", cold.toolchain_us},
      {"cold_nvrtc_us", cold.compile_us},
      {"cold_nvjitlink_us", cold.link_us},
      {"cold_other_us", cold.total_us - cold.toolchain_us - cold.compile_us - cold.link_us}};
  std::string table = fmt::format("{}, S={} C={} bf16\n", device.facts().name, shape.tokens, shape.channels);
  for (const auto& [key, value] : json.items()) {
    if (value.is_number()) table += fmt::format("  {:<28} {:>12.2f}\n", key, value.get<double>());
  }
  return {.table = table, .json = json.dump(2) + "\n"};
}

}  // namespace cakejit::bench
