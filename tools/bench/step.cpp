#include "tools/bench/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "cache/digest.hpp"
#include "cakejit/error.hpp"
#include "runtime/context.hpp"
#include "tests/support/float_types.hpp"
#include "tests/support/reference.hpp"
#include "tools/device/device.hpp"

namespace cakejit::bench {
namespace {

// A packed batch of 65,536 tokens as a trainer saw it; the convolution of Mamba2-2.7B, which has a bias.
constexpr std::int64_t kDocumentLengths[] = {15945, 21845, 27746};
constexpr std::int64_t kChannels = 5376;
constexpr std::int64_t kHostChannels = 512;  // a core has less memory bandwidth than a GPU
constexpr std::int64_t kCheckedChannels = 8;
constexpr int kTimedSteps = 5;
// Relative errors by norm against float64: one rounding to bf16 is 2^-9 at most, 1.7e-3 over all; fp32 sums 1e-6.
constexpr double kRoundedTolerance = 1.7e-3;
constexpr double kSumTolerance = 1e-6;

using Bytes = std::vector<std::byte>;

// Where the step's tensors live and its work runs.
class Place {
 public:
  virtual ~Place() = default;
  virtual void* put(const Bytes& bytes) = 0;  // a copy of `bytes` there, owned by the place
  virtual void get(Bytes& bytes, const void* from) = 0;
  virtual double timed_ms(const std::function<void(driver::StreamHandle)>& work) = 0;
  [[nodiscard]] virtual cake_device kind() const = 0;
  [[nodiscard]] virtual std::string name() const = 0;
};

class HostPlace final : public Place {
 public:
  void* put(const Bytes& bytes) override { return kept_.emplace_back(std::make_unique<Bytes>(bytes))->data(); }
  void get(Bytes& bytes, const void* from) override { std::memcpy(bytes.data(), from, bytes.size()); }
  double timed_ms(const std::function<void(driver::StreamHandle)>& work) override {
    const auto begin = std::chrono::steady_clock::now();
    work(nullptr);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  [[nodiscard]] cake_device kind() const override { return CAKE_DEVICE_HOST; }
  [[nodiscard]] std::string name() const override { return "host route (CPU)"; }

 private:
  std::vector<std::unique_ptr<Bytes>> kept_;
};

class DevicePlace final : public Place {
 public:
  explicit DevicePlace(std::unique_ptr<device::Device> device)
      : device_(std::move(device)), stream_(*device_), begin_(*device_), end_(*device_) {}
  void* put(const Bytes& bytes) override {
    const device::Buffer& buffer = kept_.emplace_back(*device_, bytes.size());
    buffer.upload(bytes.data(), bytes.size());
    return buffer.at(0);
  }
  void get(Bytes& bytes, const void* from) override {
    device_->check(device_->api().MemcpyDtoH(bytes.data(), reinterpret_cast<device::DevicePointer>(from), bytes.size()),
                   "cuMemcpyDtoH");
  }
  double timed_ms(const std::function<void(driver::StreamHandle)>& work) override {
    begin_.record(stream_);
    work(stream_.handle());
    end_.record(stream_);
    end_.synchronize();
    return end_.ms_since(begin_);
  }
  [[nodiscard]] cake_device kind() const override { return CAKE_DEVICE_CUDA; }
  [[nodiscard]] std::string name() const override { return device_->facts().name; }

 private:
  std::unique_ptr<device::Device> device_;
  device::Stream stream_;
  device::Event begin_;
  device::Event end_;
  std::vector<device::Buffer> kept_;
};

std::unique_ptr<Place> open_place(const std::string& wanted) {
  std::string why;
  if (wanted != "host") {
    if (auto device = device::Device::open(0, &why)) return std::make_unique<DevicePlace>(std::move(device));
    if (wanted == "cuda") throw Error(CAKE_STATUS_DRIVER_MISSING, why);
    fmt::print("no GPU here ({}), so the step runs on the host route\n", why);
  }
  return std::make_unique<HostPlace>();
}

// Normal random bf16 numbers. The first million or so repeat (their count is odd, so rows differ): drawing every one
// takes longer than the step.
Bytes random_bf16(std::int64_t count, double scale, std::uint64_t seed) {
  constexpr std::int64_t kDrawn = (1 << 20) + 7;
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0.0, scale);
  Bytes bytes(static_cast<std::size_t>(count) * 2);
  for (std::int64_t i = 0; i < std::min(count, kDrawn); ++i) {
    test::put(bytes.data(), CAKE_DTYPE_BF16, i, normal(generator));
  }
  for (std::int64_t done = kDrawn; done < count; done += kDrawn) {
    std::memcpy(bytes.data() + 2 * done, bytes.data(), static_cast<std::size_t>(std::min(kDrawn, count - done)) * 2);
  }
  return bytes;
}

// The step's inputs and outputs in host memory: bf16, but fp32 for the gradients of the parameters.
struct Step {
  std::int64_t tokens = 0;
  std::int64_t channels = 0;
  std::vector<std::int64_t> offsets = {0};
  Bytes x, weight, bias, dy;
  Bytes y, dx, dweight, dbias;
};

Step make_step(std::int64_t channels) {
  Step step;
  for (const std::int64_t length : kDocumentLengths) step.offsets.push_back(step.offsets.back() + length);
  step.tokens = step.offsets.back();
  step.channels = channels;
  step.x = random_bf16(step.tokens * channels, 1.0, 1);
  step.dy = random_bf16(step.tokens * channels, 1.0, 2);
  step.weight = random_bf16(channels * 4, 0.5, 3);
  step.bias = random_bf16(channels, 0.5, 4);
  step.y = step.dx = Bytes(step.x.size());
  step.dweight = Bytes(static_cast<std::size_t>(channels) * 4 * sizeof(float));
  step.dbias = Bytes(static_cast<std::size_t>(channels) * sizeof(float));
  return step;
}

Bytes offsets_bytes(const Step& step) {
  const auto view = std::as_bytes(std::span(step.offsets));
  return {view.begin(), view.end()};
}

runtime::Problem make_problem(const Step& step, cake_device device) {
  runtime::Problem problem{};
  problem.struct_size = sizeof problem;
  problem.device = device;
  problem.tokens = step.tokens;
  problem.channels = step.channels;
  problem.documents = static_cast<std::int64_t>(step.offsets.size()) - 1;
  problem.dtype = problem.weight_dtype = problem.bias_dtype = CAKE_DTYPE_BF16;
  problem.weight_grad_dtype = problem.bias_grad_dtype = CAKE_DTYPE_FP32;
  problem.cu_seqlens_dtype = CAKE_DTYPE_INT64;
  problem.activation = CAKE_ACTIVATION_SILU;
  problem.x_row_stride = problem.y_row_stride = problem.dy_row_stride = problem.dx_row_stride = step.channels;
  return problem;
}

struct StepTimes {
  double forward_ms = 0;  // medians
  double backward_ms = 0;
  bool repeatable = true;  // every repetition gave the same bits
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

StepTimes run(runtime::Context& context, Place& place, Step& step) {
  const runtime::Problem problem = make_problem(step, place.kind());
  const std::size_t workspace_bytes = runtime::backward_workspace_bytes(problem);
  void* const x = place.put(step.x);
  void* const weight = place.put(step.weight);
  void* const bias = place.put(step.bias);
  void* const offsets = place.put(offsets_bytes(step));
  const runtime::ForwardArgs forward{sizeof forward, x, weight, bias, offsets, nullptr, place.put(step.y), nullptr, 0};
  const runtime::BackwardArgs backward{sizeof backward,
                                       x,
                                       weight,
                                       bias,
                                       place.put(step.dy),
                                       offsets,
                                       nullptr,
                                       place.put(step.dx),
                                       place.put(step.dweight),
                                       place.put(step.dbias),
                                       place.put(Bytes(workspace_bytes)),
                                       workspace_bytes};
  StepTimes times;
  std::vector<double> forward_ms;
  std::vector<double> backward_ms;
  std::string first;                        // digest of all outputs
  for (int i = 0; i <= kTimedSteps; ++i) {  // the first run loads or builds the kernels
    const double f = place.timed_ms([&](auto stream) { context.forward(problem, forward, stream); });
    const double b = place.timed_ms([&](auto stream) { context.backward(problem, backward, stream); });
    if (i > 0) forward_ms.push_back(f);
    if (i > 0) backward_ms.push_back(b);
    std::string all;
    for (auto [bytes, from] : {std::pair<Bytes*, const void*>{&step.y, forward.y},
                               {&step.dx, backward.dx},
                               {&step.dweight, backward.dweight},
                               {&step.dbias, backward.dbias}}) {
      place.get(*bytes, from);
      all += cache::xxh3_128({reinterpret_cast<const char*>(bytes->data()), bytes->size()}).hex();
    }
    if (i == 0) first = all;
    times.repeatable = times.repeatable && all == first;
  }
  times.forward_ms = median(std::move(forward_ms));
  times.backward_ms = median(std::move(backward_ms));
  return times;
}

// Channels are independent of each other, so a few of them, all tokens, are as good a check as all.
std::vector<std::int64_t> checked_channels(std::int64_t channels) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < kCheckedChannels; ++i) chosen.push_back(i * (channels - 1) / (kCheckedChannels - 1));
  return chosen;
}

// Column `c` of each row of a [rows, width] table, for the chosen c.
std::vector<double> gather(const Bytes& bytes, cake_dtype dtype, std::int64_t rows, std::int64_t width,
                           const std::vector<std::int64_t>& columns) {
  std::vector<double> values;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const std::int64_t column : columns) values.push_back(test::get(bytes.data(), dtype, row * width + column));
  }
  return values;
}

std::vector<double> gather_taps(const Bytes& bytes, cake_dtype dtype, const std::vector<std::int64_t>& channels) {
  std::vector<double> values;
  for (const std::int64_t c : channels) {
    for (std::int64_t k = 0; k < 4; ++k) values.push_back(test::get(bytes.data(), dtype, c * 4 + k));
  }
  return values;
}

double relative_error(const std::vector<double>& got, const std::vector<double>& wanted) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - wanted[i]) * (got[i] - wanted[i]);
    norm += wanted[i] * wanted[i];
  }
  return std::sqrt(difference / norm);
}

struct StepErrors {
  double y, dx, dweight, dbias;
  [[nodiscard]] bool small() const {
    return y <= kRoundedTolerance && dx <= kRoundedTolerance && dweight <= kSumTolerance && dbias <= kSumTolerance;
  }
};

StepErrors compare(const Step& step) {
  const auto channels = checked_channels(step.channels);
  const test::ReferenceInput input{.offsets = step.offsets,
                                   .channels = kCheckedChannels,
                                   .activation = CAKE_ACTIVATION_SILU,
                                   .x = gather(step.x, CAKE_DTYPE_BF16, step.tokens, step.channels, channels),
                                   .weight = gather_taps(step.weight, CAKE_DTYPE_BF16, channels),
                                   .bias = gather(step.bias, CAKE_DTYPE_BF16, 1, step.channels, channels),
                                   .dy = gather(step.dy, CAKE_DTYPE_BF16, step.tokens, step.channels, channels)};
  const auto forward = test::reference_forward(input);
  const auto backward = test::reference_backward(input);
  return {
      .y = relative_error(gather(step.y, CAKE_DTYPE_BF16, step.tokens, step.channels, channels), forward.value),
      .dx = relative_error(gather(step.dx, CAKE_DTYPE_BF16, step.tokens, step.channels, channels), backward.dx.value),
      .dweight = relative_error(gather_taps(step.dweight, CAKE_DTYPE_FP32, channels), backward.dweight.value),
      .dbias = relative_error(gather(step.dbias, CAKE_DTYPE_FP32, 1, step.channels, channels), backward.dbias.value)};
}

}  // namespace

int run_step(const std::string& device, const Config& config) {
  const auto place = open_place(device);
  Step step = make_step(place->kind() == CAKE_DEVICE_HOST ? kHostChannels : kChannels);
  runtime::Context context(config);
  const StepTimes times = run(context, *place, step);
  const StepErrors errors = compare(step);
  const runtime::Statistics statistics = context.statistics();

  fmt::print("one training step on {}: {} tokens in {} documents, {} channels, bf16, bias, SiLU\n", place->name(),
             step.tokens, step.offsets.size() - 1, step.channels);
  fmt::print("  {:<9} {:>10}   relative error against float64\n", "pass", "ms");
  fmt::print("  {:<9} {:>10.3f}   y {:.1e}\n", "forward", times.forward_ms, errors.y);
  fmt::print("  {:<9} {:>10.3f}   dx {:.1e}  dweight {:.1e}  dbias {:.1e}\n", "backward", times.backward_ms, errors.dx,
             errors.dweight, errors.dbias);
  if (place->kind() == CAKE_DEVICE_CUDA) {
    fmt::print("  kernel libraries: {} from the cache, {} compiled\n", statistics.disk_hits,
               statistics.libraries_built);
  }
  fmt::print("  {} runs, {}; errors {}\n", kTimedSteps + 1,
             times.repeatable ? "the same bits each time" : "NOT the same bits each time",
             errors.small() ? "within one rounding: ok" : "TOO LARGE");
  return errors.small() && times.repeatable ? 0 : 1;
}

}  // namespace cakejit::bench
