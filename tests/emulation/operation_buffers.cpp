#include "tests/emulation/operation_buffers.hpp"

#include "tests/support/random_data.hpp"

namespace cakejit::emulation {

using test::TensorLayout;

OperationBuffers::OperationBuffers(EmulatedExecutor& executor, const OperationCase& operation_case)
    : case_(operation_case),
      problem_(case_.problem(CAKE_DEVICE_CUDA)),
      x(executor, rows(case_.x)),
      dy(executor, rows(case_.dy)),
      weight(executor, TensorLayout::dense(case_.weight_dtype, case_.channels, 4)),
      bias(executor, TensorLayout::dense(case_.bias_dtype, 1, case_.channels)),
      y(executor, rows(case_.y)),
      dx(executor, rows(case_.dx)),
      dweight(executor, TensorLayout::dense(case_.weight_grad_dtype, case_.channels, 4)),
      dbias(executor, TensorLayout::dense(case_.bias_grad_dtype, 1, case_.channels)),
      cu_seqlens(executor, TensorLayout::dense(case_.cu_seqlens_dtype, 1, problem_.documents + 1)),
      workspace(executor, TensorLayout::dense(CAKE_DTYPE_FP32, 1, static_cast<std::int64_t>(workspace_bytes() / 4))) {
  x.write(random(1, case_.tokens() * case_.channels));
  dy.write(random(2, case_.tokens() * case_.channels));
  weight.write(random(3, case_.channels * 4));
  bias.write(random(4, case_.channels));
  cu_seqlens.write_integers(case_.offsets);
}

std::vector<double> OperationBuffers::random(std::uint64_t seed, std::int64_t count) {
  return test::Random(seed).normals(count);
}

TensorLayout OperationBuffers::rows(const test::Slice& slice) const {
  return {case_.dtype, case_.tokens(), case_.channels, case_.row_stride(slice), slice.first_column};
}

std::size_t OperationBuffers::workspace_bytes() const {
  std::size_t bytes = 0;
  cake_causal_conv1d_det_train_backward_workspace_bytes(&problem_, &bytes);
  return bytes;
}

std::string OperationBuffers::run(cake_context* context) {
  cake_causal_conv1d_det_train_forward_args forward{};
  forward.struct_size = sizeof forward;
  forward.x = x.pointer();
  forward.weight = weight.pointer();
  forward.bias = bias.pointer();
  forward.cu_seqlens = cu_seqlens.pointer();
  forward.y = y.pointer();
  cake_causal_conv1d_det_train_backward_args backward{};
  backward.struct_size = sizeof backward;
  backward.x = x.pointer();
  backward.weight = weight.pointer();
  backward.bias = bias.pointer();
  backward.dy = dy.pointer();
  backward.cu_seqlens = cu_seqlens.pointer();
  backward.dx = dx.pointer();
  backward.dweight = dweight.pointer();
  backward.dbias = dbias.pointer();
  backward.workspace = workspace.pointer();
  backward.workspace_bytes = workspace_bytes();
  if (cake_causal_conv1d_det_train_forward(context, &problem_, &forward, nullptr) != CAKE_STATUS_OK ||
      cake_causal_conv1d_det_train_backward(context, &problem_, &backward, nullptr) != CAKE_STATUS_OK) {
    return cake_last_error();
  }
  return "";
}

}  // namespace cakejit::emulation
