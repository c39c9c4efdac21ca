#include "runtime/host/host_route.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "runtime/host/documents.hpp"
#include "runtime/host/kernels.hpp"
#include "runtime/host/parallel.hpp"
#include "runtime/host/tiling.hpp"

namespace cakejit::host {
namespace {

using History = std::array<std::uint8_t, kStripTokens + kHalo>;

// Below this many elements a thread's start costs more than its work saves.
constexpr std::int64_t kElementsPerThread = 64 * 1024;

int useful_threads(const Problem& problem, int threads) {
  const std::int64_t useful = 1 + problem.tokens * problem.channels / kElementsPerThread;
  return static_cast<int>(std::min<std::int64_t>(threads, useful));
}

std::int64_t element_size(cake_dtype dtype) {
  return dtype == CAKE_DTYPE_FP32 ? 4 : 2;
}

// Address of element [token, channel], in 64-bit arithmetic throughout.
const void* element(const void* base, cake_dtype dtype, std::int64_t stride, const Task& task) {
  return static_cast<const std::byte*>(base) + (task.first_token * stride + task.first_channel) * element_size(dtype);
}

void* element(void* base, cake_dtype dtype, std::int64_t stride, const Task& task) {
  return static_cast<std::byte*>(base) + (task.first_token * stride + task.first_channel) * element_size(dtype);
}

// What both passes' tasks need besides their rows.
struct TaskContext {
  TaskContext(const Problem& problem, const void* weight, const void* bias, const void* cu_seqlens, const Task& task) {
    const DocumentOffsets offsets(cu_seqlens, problem.cu_seqlens_dtype, problem.documents);
    fill_history(offsets, problem.tokens, task.first_token,
                 std::span(history).first(static_cast<std::size_t>(task.tokens + kHalo)));
    load_parameters(weight, problem.weight_dtype, bias, problem.bias_dtype, task.first_channel, task.channels,
                    parameters);
  }

  Parameters parameters;
  History history;
};

// The workspace holds, strip by strip, kSums rows of C partial sums.
float* partial_sums(void* workspace, const Problem& problem, std::int64_t strip, int sum) {
  return static_cast<float*>(workspace) + (strip * kSums + sum) * problem.channels;
}

// One channel's sum over the strips, in their order. In double: exact enough that only the strips' own rounding counts.
float reduce(const Problem& problem, void* workspace, std::int64_t strips, int sum, std::int64_t channel) {
  double total = 0;
  for (std::int64_t strip = 0; strip < strips; ++strip) {
    total += static_cast<double>(partial_sums(workspace, problem, strip, sum)[channel]);
  }
  return static_cast<float>(total);
}

}  // namespace

void forward(const Problem& problem, const cake_causal_conv1d_det_train_forward_args& args, int threads,
             const KernelTable* kernels) {
  if (kernels == nullptr) kernels = available_kernels().back();
  const Tiling tiling(problem.tokens, problem.channels);
  parallel_for(tiling.tasks(), useful_threads(problem, threads), [&](std::int64_t index) {
    const Task task = tiling.task(index);
    const TaskContext context(problem, args.weight, args.bias, args.cu_seqlens, task);
    ForwardStrip strip = {};
    strip.x = element(args.x, problem.dtype, problem.x_row_stride, task);
    strip.y = element(args.y, problem.dtype, problem.y_row_stride, task);
    strip.x_stride = problem.x_row_stride;
    strip.y_stride = problem.y_row_stride;
    strip.parameters = &context.parameters;
    strip.history = context.history.data();
    strip.tokens = task.tokens;
    strip.channels = task.channels;
    kernels->forward(problem.dtype, problem.activation, strip);
  });
}

void backward(const Problem& problem, const cake_causal_conv1d_det_train_backward_args& args, int threads,
              const KernelTable* kernels) {
  if (kernels == nullptr) kernels = available_kernels().back();
  const Tiling tiling(problem.tokens, problem.channels);
  const int useful = useful_threads(problem, threads);
  parallel_for(tiling.tasks(), useful, [&](std::int64_t index) {
    const Task task = tiling.task(index);
    const TaskContext context(problem, args.weight, args.bias, args.cu_seqlens, task);
    BackwardStrip strip = {};
    strip.x = element(args.x, problem.dtype, problem.x_row_stride, task);
    strip.dy = element(args.dy, problem.dtype, problem.dy_row_stride, task);
    strip.dx = element(args.dx, problem.dtype, problem.dx_row_stride, task);
    strip.x_stride = problem.x_row_stride;
    strip.dy_stride = problem.dy_row_stride;
    strip.dx_stride = problem.dx_row_stride;
    strip.parameters = &context.parameters;
    strip.history = context.history.data();
    strip.tokens = task.tokens;
    strip.channels = task.channels;
    for (int sum = 0; sum < kSums; ++sum) {
      strip.sums[sum] = partial_sums(args.workspace, problem, task.strip, sum) + task.first_channel;
    }
    kernels->backward(problem.dtype, problem.activation, strip);
  });
  parallel_for(tiling.blocks(), useful, [&](std::int64_t block) {
    const std::int64_t first = block * kBlockChannels;
    const std::int64_t last = std::min(first + kBlockChannels, problem.channels);
    for (std::int64_t channel = first; channel < last; ++channel) {
      for (int tap = 0; tap < kTaps; ++tap) {
        store_value(args.dweight, problem.weight_grad_dtype, channel * kTaps + tap,
                    reduce(problem, args.workspace, tiling.strips(), tap, channel));
      }
      if (args.dbias == nullptr) continue;
      store_value(args.dbias, problem.bias_grad_dtype, channel,
                  reduce(problem, args.workspace, tiling.strips(), kTaps, channel));
    }
  });
}

std::size_t backward_workspace_bytes(const Problem& problem) {
  const Tiling tiling(problem.tokens, problem.channels);
  return static_cast<std::size_t>(tiling.strips() * problem.channels) * kSums * sizeof(float);
}

}  // namespace cakejit::host
