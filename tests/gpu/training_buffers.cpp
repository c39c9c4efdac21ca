#include "tests/gpu/training_buffers.hpp"

#include <random>
#include <span>

#include "tests/support/float_types.hpp"

namespace cakejit::test {
namespace {

cake_causal_conv1d_det_train_problem make_problem(std::int64_t tokens, std::int64_t channels, std::int64_t documents) {
  cake_causal_conv1d_det_train_problem problem{};
  problem.struct_size = sizeof problem;
  problem.device = CAKE_DEVICE_CUDA;
  problem.tokens = tokens;
  problem.channels = channels;
  problem.documents = documents;
  problem.dtype = problem.weight_dtype = problem.bias_dtype = CAKE_DTYPE_BF16;
  problem.weight_grad_dtype = problem.bias_grad_dtype = CAKE_DTYPE_FP32;
  problem.cu_seqlens_dtype = CAKE_DTYPE_INT32;
  problem.activation = CAKE_ACTIVATION_SILU;
  problem.x_row_stride = problem.y_row_stride = problem.dy_row_stride = problem.dx_row_stride = channels;
  return problem;
}

std::size_t workspace_bytes(const cake_causal_conv1d_det_train_problem& problem) {
  std::size_t bytes = 0;
  cake_causal_conv1d_det_train_backward_workspace_bytes(&problem, &bytes);
  return bytes;
}

std::vector<std::byte> random_bf16(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<std::byte> bytes(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    put(bytes.data(), CAKE_DTYPE_BF16, static_cast<std::int64_t>(i), normal(generator));
  }
  return bytes;
}

void append(std::vector<std::byte>& all, const device::Buffer& buffer) {
  const std::size_t begin = all.size();
  all.resize(begin + buffer.bytes());
  buffer.download(all.data() + begin, buffer.bytes());
}

}  // namespace

TrainingBuffers::TrainingBuffers(const device::Device& gpu, std::int64_t tokens, std::int64_t channels,
                                 std::int64_t documents)
    : problem(make_problem(tokens, channels, documents)),
      forward{},
      backward{},
      gpu_(gpu),
      x_(gpu, static_cast<std::size_t>(2 * tokens * channels)),
      weight_(gpu, static_cast<std::size_t>(8 * channels)),
      bias_(gpu, static_cast<std::size_t>(2 * channels)),
      dy_(gpu, x_.bytes()),
      cu_seqlens_(gpu, static_cast<std::size_t>(4 * (documents + 1))),
      y_(gpu, x_.bytes()),
      dx_(gpu, x_.bytes()),
      dweight_(gpu, static_cast<std::size_t>(16 * channels)),
      dbias_(gpu, static_cast<std::size_t>(4 * channels)),
      workspace_(gpu, workspace_bytes(problem)) {
  constexpr std::size_t kDrawn = (1 << 18) + 3;
  x_.fill(random_bf16(kDrawn, 1));
  dy_.fill(random_bf16(kDrawn, 2));
  weight_.fill(random_bf16(kDrawn, 3));
  bias_.fill(random_bf16(kDrawn, 4));
  forward = {sizeof forward,   x_.at(0), weight_.at(0), bias_.at(0), cu_seqlens_.at(0), nullptr, y_.at(0),
             workspace_.at(0), 0};
  backward = {sizeof backward, x_.at(0),  weight_.at(0),  bias_.at(0),  dy_.at(0),        cu_seqlens_.at(0),
              nullptr,         dx_.at(0), dweight_.at(0), dbias_.at(0), workspace_.at(0), workspace_.bytes()};
}

void TrainingBuffers::set_documents(const std::vector<std::int32_t>& cu_seqlens) const {
  cu_seqlens_.upload(cu_seqlens.data(), cu_seqlens.size() * sizeof cu_seqlens[0]);
}

cake_status TrainingBuffers::run(cake_context* context, const device::Stream& stream) const {
  const cake_status status = cake_causal_conv1d_det_train_forward(context, &problem, &forward, stream.handle());
  if (status != CAKE_STATUS_OK) return status;
  return cake_causal_conv1d_det_train_backward(context, &problem, &backward, stream.handle());
}

std::vector<std::byte> TrainingBuffers::outputs() const {
  std::vector<std::byte> all;
  for (const device::Buffer* buffer : {&y_, &dx_, &dweight_, &dbias_}) append(all, *buffer);
  return all;
}

void TrainingBuffers::poison() const {
  const std::vector<std::byte> pattern(4096, std::byte{0xff});
  for (const device::Buffer* buffer : {&y_, &dx_, &dweight_, &dbias_, &workspace_}) buffer->fill(pattern);
}

}  // namespace cakejit::test
