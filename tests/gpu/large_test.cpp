// Shapes whose element offsets pass 2^31 and 2^32, and whose launches pass the limits of the y and z dimensions. Inputs
// repeat a pattern of odd length, so that every element's value is known without holding the tensor on the host; points
// are sampled.
#include <cmath>
#include <random>

#include "cakejit/cake_causal_conv1d_det_train.h"
#include "tests/gpu/gpu.hpp"
#include "tests/support/float_types.hpp"
#include "tests/support/reference.hpp"

using namespace cakejit;
using namespace cakejit::test;

namespace {

constexpr std::size_t kPattern = 100'003;  // a prime: neighbouring rows differ
constexpr std::int64_t kDocuments = 3;

struct LargeShape {
  const char* what;
  std::int64_t tokens;
  std::int64_t channels;
  std::int64_t row_stride;
  bool backward;
};

std::vector<std::byte> pattern_bytes(std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<std::byte> bytes(2 * kPattern);
  for (std::size_t i = 0; i < kPattern; ++i)
    put(bytes.data(), CAKE_DTYPE_BF16, static_cast<std::int64_t>(i), normal(generator));
  return bytes;
}

double pattern_value(const std::vector<std::byte>& pattern, std::int64_t index) {
  return get(pattern.data(), CAKE_DTYPE_BF16, index % static_cast<std::int64_t>(kPattern));
}

// One channel of the whole problem, in float64.
ReferenceInput channel_input(const LargeShape& shape, const Offsets& offsets, std::int64_t channel,
                             const std::vector<std::byte>& x, const std::vector<std::byte>& dy,
                             const std::vector<std::byte>& weight) {
  ReferenceInput input;
  input.offsets = offsets;
  input.channels = 1;
  input.activation = CAKE_ACTIVATION_SILU;
  for (std::int64_t t = 0; t < shape.tokens; ++t) {
    input.x.push_back(pattern_value(x, t * shape.row_stride + channel));
    input.dy.push_back(pattern_value(dy, t * shape.row_stride + channel));
  }
  for (std::int64_t k = 0; k < 4; ++k) input.weight.push_back(pattern_value(weight, channel * 4 + k));
  return input;
}

double element(const device::Buffer& buffer, cake_dtype dtype, std::int64_t index) {
  std::byte bytes[8] = {};
  const std::size_t size = bytes_of(dtype);
  buffer.download(bytes, size, static_cast<std::size_t>(index) * size);
  return get(bytes, dtype, 0);
}

cake_causal_conv1d_det_train_problem large_problem(const LargeShape& shape) {
  cake_causal_conv1d_det_train_problem problem{};
  problem.struct_size = sizeof problem;
  problem.device = CAKE_DEVICE_CUDA;
  problem.tokens = shape.tokens;
  problem.channels = shape.channels;
  problem.documents = kDocuments;
  problem.dtype = problem.weight_dtype = CAKE_DTYPE_BF16;
  problem.weight_grad_dtype = CAKE_DTYPE_FP32;
  problem.cu_seqlens_dtype = CAKE_DTYPE_INT64;
  problem.activation = CAKE_ACTIVATION_SILU;
  problem.x_row_stride = problem.y_row_stride = problem.dy_row_stride = problem.dx_row_stride = shape.row_stride;
  return problem;
}

void check_large(const LargeShape& shape) {
  const device::Device& device = *gpu();
  const device::Stream stream(device);
  const auto problem = large_problem(shape);
  const auto tensor_bytes = static_cast<std::size_t>(2 * shape.tokens * shape.row_stride);
  std::size_t workspace_bytes = 0;
  REQUIRE(cake_causal_conv1d_det_train_backward_workspace_bytes(&problem, &workspace_bytes) == CAKE_STATUS_OK);
  const std::size_t needed = tensor_bytes * (shape.backward ? 3 : 2) + workspace_bytes;
  if (needed + (std::size_t{2} << 30) > device.facts().memory_bytes) {
    WARN("skipped: " << shape.what << " needs " << (needed >> 30) << " GiB of GPU memory");
    return;
  }
  const auto x_pattern = pattern_bytes(1);
  const auto dy_pattern = pattern_bytes(2);
  const auto weight_pattern = pattern_bytes(3);
  const Offsets offsets = {0, 3, shape.tokens / 2 + 1, shape.tokens};

  const device::Buffer x(device, tensor_bytes);
  const device::Buffer out(device, tensor_bytes);  // y, then dx
  const device::Buffer weight(device, static_cast<std::size_t>(8 * shape.channels));
  const device::Buffer cu_seqlens(device, 8 * offsets.size());
  x.fill(x_pattern);
  weight.fill(weight_pattern);
  cu_seqlens.upload(offsets.data(), cu_seqlens.bytes());
  const cake_causal_conv1d_det_train_forward_args forward{
      sizeof forward, x.at(0), weight.at(0), nullptr, cu_seqlens.at(0), nullptr, out.at(0), nullptr, 0};
  REQUIRE(cake_causal_conv1d_det_train_forward(nullptr, &problem, &forward, stream.handle()) == CAKE_STATUS_OK);
  stream.synchronize();

  const std::vector<std::int64_t> channels = {0, shape.channels / 3, shape.channels - 1};
  const std::vector<std::int64_t> tokens = {
      0, 2, 3, 4, shape.tokens / 2, shape.tokens / 2 + 1, shape.tokens - 2, shape.tokens - 1};
  const auto near = [](double found, double expected, double magnitude) {
    return std::fabs(found - expected) <= half_ulp(CAKE_DTYPE_BF16, expected) + 1e-5 * magnitude;
  };
  std::vector<ReferenceInput> inputs;
  for (const std::int64_t c : channels) {
    inputs.push_back(channel_input(shape, offsets, c, x_pattern, dy_pattern, weight_pattern));
    const auto reference = reference_forward(inputs.back());
    for (const std::int64_t t : tokens) {
      CAPTURE(shape.what, c, t);
      const auto i = static_cast<std::size_t>(t);
      CHECK(near(element(out, CAKE_DTYPE_BF16, t * shape.row_stride + c), reference.value[i], reference.magnitude[i]));
    }
  }
  if (!shape.backward) return;

  const device::Buffer dy(device, tensor_bytes);
  const device::Buffer dweight(device, static_cast<std::size_t>(16 * shape.channels));
  const device::Buffer workspace(device, workspace_bytes);
  dy.fill(dy_pattern);
  const cake_causal_conv1d_det_train_backward_args backward{
      sizeof backward, x.at(0),   weight.at(0),  nullptr, dy.at(0),        cu_seqlens.at(0),
      nullptr,         out.at(0), dweight.at(0), nullptr, workspace.at(0), workspace_bytes};
  REQUIRE(cake_causal_conv1d_det_train_backward(nullptr, &problem, &backward, stream.handle()) == CAKE_STATUS_OK);
  stream.synchronize();
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const auto reference = reference_backward(inputs[i]);
    for (const std::int64_t t : tokens) {
      CAPTURE(shape.what, channels[i], t);
      const auto at = static_cast<std::size_t>(t);
      CHECK(near(element(out, CAKE_DTYPE_BF16, t * shape.row_stride + channels[i]), reference.dx.value[at],
                 reference.dx.magnitude[at]));
    }
    for (std::int64_t k = 0; k < 4; ++k) {
      CAPTURE(shape.what, channels[i], k);
      const auto at = static_cast<std::size_t>(k);
      CHECK(std::fabs(element(dweight, CAKE_DTYPE_FP32, channels[i] * 4 + k) - reference.dweight.value[at]) <=
            4e-6 * reference.dweight.root_square[at]);
    }
  }
}

}  // namespace

TEST_CASE("offsets past 2^31 and 2^32 elements and large launches are right", "[large]") {
  if (gpu() == nullptr) return;
  for (const LargeShape& shape :
       {LargeShape{"C = 70,000", 300, 70'000, 70'000, true}, LargeShape{"S = 5,000,000", 5'000'000, 64, 64, true},
        LargeShape{"a token pitch of 36,864 past 58 thousand tokens", 60'000, 4096, 36'864, true},
        LargeShape{"S*C past 2^32 elements", 5'000'000, 1024, 1024, true},
        LargeShape{"x [4096, 4177992]", 4096, 4'177'992, 4'177'992, true}}) {
    check_large(shape);
  }
}
