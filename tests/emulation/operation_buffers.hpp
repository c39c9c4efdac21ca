// The tensors of one case on the emulated GPU, for tests that choose what is in them.
#pragma once

#include <string>

#include "tests/emulation/cases.hpp"
#include "tests/emulation/device.hpp"
#include "tests/support/operation_tensors.hpp"

namespace cakejit::emulation {

class OperationBuffers {
 public:
  // With the case's offsets and random numbers. The case must have a bias, and outlive this.
  OperationBuffers(EmulatedExecutor& executor, const OperationCase& operation_case);

  // Both passes. "", or what the call that failed says.
  std::string run(cake_context* context);

  [[nodiscard]] static std::vector<double> random(std::uint64_t seed, std::int64_t count);

 private:
  [[nodiscard]] test::TensorLayout rows(const test::Slice& slice) const;
  [[nodiscard]] std::size_t workspace_bytes() const;

  const OperationCase& case_;
  cake_causal_conv1d_det_train_problem problem_;

 public:
  test::GuardedTensor x, dy, weight, bias, y, dx, dweight, dbias, cu_seqlens, workspace;
};

}  // namespace cakejit::emulation
