// What cake-bench runs on: shapes, document lengths, and the device tensors of one shape at one placement.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/validate.hpp"
#include "tools/device/device.hpp"

namespace cakejit::bench {

struct Shape {
  std::int64_t tokens = 0;
  std::int64_t channels = 0;
};

// The shapes of real packed training batches that the speed goals are stated for.
std::span<const Shape> seed_sweep();

enum class DocumentMix { kOne, kRandom40, kShort4000, kThreeLengths };
DocumentMix parse_document_mix(const std::string& name);

// Document offsets that cover [0, tokens); seeded, so the same on every run.
std::vector<std::int64_t> document_offsets(DocumentMix mix, std::int64_t tokens);

struct Options {
  cake_dtype dtype = CAKE_DTYPE_BF16;
  cake_dtype parameter_dtype = CAKE_DTYPE_BF16;
  bool bias = false;
  cake_activation activation = CAKE_ACTIVATION_SILU;
  DocumentMix documents = DocumentMix::kRandom40;
};

cake_causal_conv1d_det_train_problem make_problem(const Shape& shape, const Options& options, std::int64_t documents);

// One allocation for all shapes, filled with random numbers once; tensors are cut from it. `placement` moves the
// tensors relative to each other: the limit depends on which DRAM channels source and target share.
class Arena {
 public:
  static constexpr int kPlacements = 3;

  Arena(const device::Device& device, std::span<const Shape> shapes, const Options& options);

  struct Tensors {
    cake_causal_conv1d_det_train_problem problem;
    cake_causal_conv1d_det_train_forward_args forward;
    cake_causal_conv1d_det_train_backward_args backward;
    std::size_t tensor_bytes = 0;  // of x
  };
  // Valid until the next call: cu_seqlens are uploaded anew.
  Tensors cut(const Shape& shape, int placement);

  // Puts work on the stream that leaves nothing of the tensors in the L2 cache.
  void flush_cache(const device::Stream& stream) const;

 private:
  const device::Device& device_;
  Options options_;
  device::Buffer tensors_;
  device::Buffer parameters_;
  device::Buffer documents_;
  device::Buffer flush_;
};

}  // namespace cakejit::bench
