// One forward and backward on a GPU with given documents: inputs filled with random bf16 numbers, outputs downloadable.
#pragma once

#include <cstdint>
#include <vector>

#include "cakejit/cake_causal_conv1d_det_train.h"
#include "tools/device/device.hpp"

namespace cakejit::test {

class TrainingBuffers {
 public:
  // `documents` is N: cu_seqlens has room for N+1 int32 offsets.
  TrainingBuffers(const device::Device& gpu, std::int64_t tokens, std::int64_t channels, std::int64_t documents);

  void set_documents(const std::vector<std::int32_t>& cu_seqlens) const;
  // Calls both passes on `stream`; gives the first status that is not OK.
  cake_status run(cake_context* context, const device::Stream& stream) const;
  // The bytes of y, dx, dweight and dbias, one after the other.
  [[nodiscard]] std::vector<std::byte> outputs() const;
  // Overwrites every output and the workspace with 0xFF bytes.
  void poison() const;

  cake_causal_conv1d_det_train_problem problem;
  cake_causal_conv1d_det_train_forward_args forward;
  cake_causal_conv1d_det_train_backward_args backward;

 private:
  const device::Device& gpu_;
  device::Buffer x_, weight_, bias_, dy_, cu_seqlens_, y_, dx_, dweight_, dbias_, workspace_;
};

}  // namespace cakejit::test
