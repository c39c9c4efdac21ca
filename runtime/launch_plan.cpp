#include "runtime/launch_plan.hpp"

#include <fmt/format.h>

#include <limits>

#include "cakejit/error.hpp"
#include "kernels/launch_params.h"
#include "runtime/route.hpp"

namespace cakejit::runtime {
namespace {

namespace kernel = cakejit_kernels;
static_assert(kernel::kBf16 == static_cast<int>(CAKE_DTYPE_BF16) &&
              kernel::kFp16 == static_cast<int>(CAKE_DTYPE_FP16) &&
              kernel::kFp32 == static_cast<int>(CAKE_DTYPE_FP32) &&
              kernel::kInt32 == static_cast<int>(CAKE_DTYPE_INT32) &&
              kernel::kInt64 == static_cast<int>(CAKE_DTYPE_INT64));

// kReduceThreads and kReduceColumns of kernels/reduce.cuh.
constexpr unsigned kReduceThreads = 512;
constexpr std::int64_t kReduceColumns = 32;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

std::int64_t sum_rows(bool has_bias) {
  return has_bias ? 5 : 4;
}

std::size_t alignment_of(std::uintptr_t bits) {
  const std::uintptr_t lowest = (bits | 16) & (~(bits | 16) + 1);
  return static_cast<std::size_t>(lowest);
}

std::uintptr_t address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// Of the strides between the rows of the tensors that the pass uses, in bytes.
std::uintptr_t stride_bits(const Problem& p, Pass pass) {
  const std::int64_t strides =
      pass == Pass::kForward ? p.x_row_stride | p.y_row_stride : p.x_row_stride | p.dy_row_stride | p.dx_row_stride;
  return static_cast<std::uintptr_t>(strides) * dtype_bytes(p.dtype);
}

kernel::Documents documents(const Problem& problem, const void* cu_seqlens) {
  return {cu_seqlens, problem.documents, problem.cu_seqlens_dtype == CAKE_DTYPE_INT64 ? 1 : 0};
}

int is_fp32(cake_dtype dtype) {
  return dtype == CAKE_DTYPE_FP32 ? 1 : 0;
}

template <class Params>
void launch(const driver::DriverApi& driver, driver::KernelHandle kernel, unsigned blocks, unsigned threads,
            driver::StreamHandle stream, bool programmatic, Params params) {
  driver::LaunchAttribute attribute{};
  attribute.id = driver::kLaunchProgrammaticStreamSerialization;
  attribute.value = 1;
  const driver::LaunchConfig config{.grid_x = blocks,
                                    .grid_y = 1,
                                    .grid_z = 1,
                                    .block_x = threads,
                                    .block_y = 1,
                                    .block_z = 1,
                                    .shared_bytes = 0,
                                    .stream = stream,
                                    .attributes = &attribute,
                                    .attribute_count = programmatic ? 1u : 0u};
  void* parameters[] = {&params};
  driver.check(driver.LaunchKernelEx(&config, kernel, parameters, nullptr), "cuLaunchKernelEx");
}

}  // namespace

LaunchPlan make_launch_plan(const Problem& problem, const Specialization& s, const jit::Target& target,
                            int strip_tokens, std::shared_ptr<const driver::LoadedLibrary> library) {
  LaunchPlan plan;
  plan.specialization = s;
  plan.programmatic_launch = target.compute_major >= 9;
  plan.strip_tokens = strip_tokens;
  plan.strips = ceil_div(problem.tokens, strip_tokens);
  const std::int64_t row_threads = problem.channels / s.vector_channels;
  // The kernels number their threads in 32 bits, those of the last block included.
  if (plan.strips > (std::numeric_limits<std::uint32_t>::max() - s.block_threads) / row_threads) {
    throw Error(
        CAKE_STATUS_UNSUPPORTED,
        fmt::format("{} tokens x {} channels need more than 2^32 threads of {} channels x {} tokens; split the call",
                    problem.tokens, problem.channels, s.vector_channels, strip_tokens));
  }
  plan.blocks = static_cast<unsigned>(ceil_div(plan.strips * row_threads, s.block_threads));
  if (s.pass == Pass::kBackward) {
    plan.reduce_blocks = static_cast<unsigned>(ceil_div(sum_rows(s.has_bias) * problem.channels, kReduceColumns));
  }
  plan.library = std::move(library);
  return plan;
}

void launch_forward(const driver::DriverApi& driver, const LaunchPlan& plan, const Problem& problem,
                    const ForwardArgs& args, driver::StreamHandle stream) {
  if (plan.blocks == 0) return;
  launch(driver, plan.library->kernel(0), plan.blocks, static_cast<unsigned>(plan.specialization.block_threads), stream,
         false,
         kernel::ForwardParams{.x = args.x,
                               .weight = args.weight,
                               .bias = args.bias,
                               .y = args.y,
                               .documents = documents(problem, args.cu_seqlens),
                               .tokens = problem.tokens,
                               .x_row_stride = problem.x_row_stride,
                               .y_row_stride = problem.y_row_stride,
                               .strip_tokens = plan.strip_tokens,
                               .weight_is_fp32 = is_fp32(problem.weight_dtype),
                               .bias_is_fp32 = is_fp32(problem.bias_dtype)});
}

void launch_backward(const driver::DriverApi& driver, const LaunchPlan& plan, const Problem& problem,
                     const BackwardArgs& args, driver::StreamHandle stream) {
  auto* partials = static_cast<float*>(args.workspace);
  if (plan.blocks != 0) {
    launch(driver, plan.library->kernel(0), plan.blocks, static_cast<unsigned>(plan.specialization.block_threads),
           stream, false,
           kernel::BackwardParams{.x = args.x,
                                  .weight = args.weight,
                                  .bias = args.bias,
                                  .dy = args.dy,
                                  .dx = args.dx,
                                  .partials = partials,
                                  .documents = documents(problem, args.cu_seqlens),
                                  .tokens = problem.tokens,
                                  .x_row_stride = problem.x_row_stride,
                                  .dy_row_stride = problem.dy_row_stride,
                                  .dx_row_stride = problem.dx_row_stride,
                                  .strip_tokens = plan.strip_tokens,
                                  .weight_is_fp32 = is_fp32(problem.weight_dtype),
                                  .bias_is_fp32 = is_fp32(problem.bias_dtype)});
  }
  launch(driver, plan.library->kernel(1), plan.reduce_blocks, kReduceThreads, stream,
         plan.programmatic_launch && plan.blocks != 0,
         kernel::ReduceParams{.partials = partials,
                              .dweight = args.dweight,
                              .dbias = args.dbias,
                              .strips = plan.strips,
                              .dweight_is_fp32 = is_fp32(problem.weight_grad_dtype),
                              .dbias_is_fp32 = is_fp32(problem.bias_grad_dtype)});
}

std::size_t device_backward_workspace_bytes(const Problem& problem) {
  const std::int64_t strips = max_backward_strips(problem.tokens, problem.channels, problem.dtype);
  return static_cast<std::size_t>(strips * sum_rows(problem.bias_dtype != CAKE_DTYPE_NONE) * problem.channels) *
         sizeof(float);
}

std::size_t row_alignment(const Problem& problem, const ForwardArgs& args) {
  return alignment_of(stride_bits(problem, Pass::kForward) | address(args.x) | address(args.y));
}

std::size_t row_alignment(const Problem& problem, const BackwardArgs& args) {
  return alignment_of(stride_bits(problem, Pass::kBackward) | address(args.x) | address(args.dy) | address(args.dx));
}

std::size_t row_alignment(const Problem& problem, Pass pass, std::size_t pointers) {
  return alignment_of(stride_bits(problem, pass) | pointers);
}

}  // namespace cakejit::runtime
