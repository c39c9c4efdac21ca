#include "tests/runtime/host/problem.hpp"

#include <cmath>
#include <cstring>

#include "tests/support/float_types.hpp"
#include "tests/support/random_data.hpp"

namespace cakejit::test {
namespace {

std::vector<std::byte> encode_all(cake_dtype dtype, const std::vector<double>& values) {
  std::vector<std::byte> result(values.size() * bytes_of(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) put(result.data(), dtype, static_cast<std::int64_t>(i), values[i]);
  return result;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace

bool HostResult::operator==(const HostResult& other) const {
  return same_bits(y, other.y) && same_bits(dx, other.dx) && same_bits(dweight, other.dweight) &&
         same_bits(dbias, other.dbias);
}

HostProblem::HostProblem(Offsets offsets, std::int64_t channels, cake_dtype dtype, std::uint64_t seed) : dtype_(dtype) {
  Random random(seed);
  const auto rounded = [&](std::int64_t count, cake_dtype type) {
    std::vector<double> values = random.normals(count);
    for (double& value : values) value = round_to(type, value);
    return values;
  };
  const std::int64_t elements = offsets.back() * channels;
  input = {std::move(offsets),
           channels,
           CAKE_ACTIVATION_SILU,
           rounded(elements, dtype),
           rounded(channels * 4, CAKE_DTYPE_FP32),
           rounded(channels, CAKE_DTYPE_FP32),
           rounded(elements, dtype)};
}

void HostProblem::call(const Rows& rows, int threads, const host::KernelTable* kernels, HostResult& result) const {
  host::Problem problem = {};
  problem.struct_size = sizeof problem;
  problem.tokens = input.tokens();
  problem.channels = input.channels;
  problem.documents = static_cast<std::int64_t>(input.offsets.size()) - 1;
  problem.dtype = dtype_;
  problem.weight_dtype = problem.bias_dtype = problem.weight_grad_dtype = problem.bias_grad_dtype = CAKE_DTYPE_FP32;
  problem.cu_seqlens_dtype = CAKE_DTYPE_INT64;
  problem.activation = input.activation;
  problem.x_row_stride = problem.y_row_stride = problem.dy_row_stride = problem.dx_row_stride = rows.stride;

  const std::vector<std::byte> weight = encode_all(CAKE_DTYPE_FP32, input.weight);
  const std::vector<std::byte> bias = encode_all(CAKE_DTYPE_FP32, input.bias);
  cake_causal_conv1d_det_train_forward_args forward = {};
  forward.struct_size = sizeof forward;
  forward.x = rows.x;
  forward.weight = weight.data();
  forward.bias = bias.data();
  forward.cu_seqlens = input.offsets.data();
  forward.y = rows.y;
  host::forward(problem, forward, threads, kernels);

  std::vector<std::byte> workspace(host::backward_workspace_bytes(problem), std::byte{0xff});
  result.dweight.assign(input.weight.size(), NAN);
  result.dbias.assign(input.bias.size(), NAN);
  cake_causal_conv1d_det_train_backward_args backward = {};
  backward.struct_size = sizeof backward;
  backward.x = rows.x;
  backward.weight = weight.data();
  backward.bias = bias.data();
  backward.dy = rows.dy;
  backward.cu_seqlens = input.offsets.data();
  backward.dx = rows.dx;
  backward.dweight = result.dweight.data();
  backward.dbias = result.dbias.data();
  backward.workspace = workspace.data();
  backward.workspace_bytes = workspace.size();
  host::backward(problem, backward, threads, kernels);
}

HostResult HostProblem::run(int threads, const host::KernelTable* kernels) const {
  const std::vector<std::byte> x = encode_all(dtype_, input.x);
  const std::vector<std::byte> dy = encode_all(dtype_, input.dy);
  HostResult result;
  result.y.assign(x.size(), std::byte{0xff});
  result.dx.assign(x.size(), std::byte{0xff});
  call({x.data(), dy.data(), result.y.data(), result.dx.data(), input.channels}, threads, kernels, result);
  return result;
}

HostResult HostProblem::run_in(const std::byte* x, const std::byte* dy, std::byte* y, std::byte* dx,
                               std::int64_t stride) const {
  HostResult result;
  call({x, dy, y, dx, stride}, 1, nullptr, result);
  const auto stride_bytes = static_cast<std::size_t>(stride) * bytes_of(dtype_);
  const auto row_bytes = static_cast<std::size_t>(input.channels) * bytes_of(dtype_);
  for (std::size_t row = 0; row < static_cast<std::size_t>(input.tokens()); ++row) {
    result.y.insert(result.y.end(), y + row * stride_bytes, y + row * stride_bytes + row_bytes);
    result.dx.insert(result.dx.end(), dx + row * stride_bytes, dx + row * stride_bytes + row_bytes);
  }
  return result;
}

std::vector<double> HostProblem::values(const std::vector<std::byte>& tensor) const {
  std::vector<double> result(tensor.size() / bytes_of(dtype_));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = get(tensor.data(), dtype_, static_cast<std::int64_t>(i));
  return result;
}

double relative_error(const std::vector<double>& found, const std::vector<double>& expected) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += (found[i] - expected[i]) * (found[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(error / size);
}

double relative_error(const std::vector<float>& found, const std::vector<double>& expected) {
  return relative_error(std::vector<double>(found.begin(), found.end()), expected);
}

}  // namespace cakejit::test
