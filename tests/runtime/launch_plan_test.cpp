#include "runtime/launch_plan.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "kernels/embedded.hpp"
#include "kernels/launch_params.h"
#include "runtime/route.hpp"
#include "tests/runtime/samples.hpp"

using namespace cakejit;
using namespace cakejit::runtime;
using namespace cakejit::runtime::testing;

namespace {

Problem shaped(std::int64_t tokens, std::int64_t channels, bool has_bias = false) {
  Problem problem = sample_problem();
  problem.device = CAKE_DEVICE_CUDA;
  problem.tokens = tokens;
  problem.channels = channels;
  problem.bias_dtype = has_bias ? CAKE_DTYPE_BF16 : CAKE_DTYPE_NONE;
  problem.x_row_stride = problem.y_row_stride = problem.dy_row_stride = problem.dx_row_stride = channels;
  return problem;
}

LaunchPlan planned(Pass pass, const Problem& problem, std::size_t alignment = 16, const char* target = "sm_90a") {
  const jit::Target& chosen = jit::find_target(target);
  const Specialization specialization = route({.pass = pass,
                                               .channels = problem.channels,
                                               .dtype = problem.dtype,
                                               .has_bias = problem.bias_dtype != CAKE_DTYPE_NONE,
                                               .activation = problem.activation,
                                               .row_alignment = alignment},
                                              chosen);
  return make_launch_plan(problem, specialization, chosen, strip_tokens(specialization, problem.tokens, 132), nullptr);
}

// A driver that launches nothing and remembers what it was asked.
struct Launched {
  unsigned grid, block, attributes;
  driver::KernelHandle kernel;
  std::vector<char> parameters;
};
std::vector<Launched>* launches = nullptr;

driver::DriverApi recording_driver(std::size_t parameter_bytes) {
  static std::size_t bytes;
  bytes = parameter_bytes;
  driver::DriverApi api{};
  api.LibraryLoadData = [](driver::LibraryHandle* library, const void*, int*, void**, unsigned, int*, void**,
                           unsigned) -> driver::Result {
    *library = nullptr;
    return driver::kSuccess;
  };
  api.LibraryUnload = [](driver::LibraryHandle) -> driver::Result { return driver::kSuccess; };
  api.LibraryGetKernel = [](driver::KernelHandle* kernel, driver::LibraryHandle, const char* name) -> driver::Result {
    *kernel = reinterpret_cast<driver::KernelHandle>(std::strlen(name));
    return driver::kSuccess;
  };
  api.LaunchKernelEx = [](const driver::LaunchConfig* config, driver::KernelHandle kernel, void** parameters,
                          void**) -> driver::Result {
    const auto* first = static_cast<const char*>(parameters[0]);
    launches->push_back(
        {config->grid_x, config->block_x, config->attribute_count, kernel, std::vector<char>(first, first + bytes)});
    return driver::kSuccess;
  };
  return api;
}

int kernel_constant(const std::string& name) {
  for (const EmbeddedSource& source : kernels::embedded_sources()) {
    if (source.name == "reduce.cuh") return source_constant(source.text, name);
  }
  return -1;
}

void* address(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);
}

std::size_t forward_alignment(std::uintptr_t x, std::uintptr_t y, std::int64_t x_stride, std::int64_t y_stride,
                              cake_dtype dtype) {
  Problem problem = shaped(10, 1);
  problem.dtype = dtype;
  problem.x_row_stride = x_stride;
  problem.y_row_stride = y_stride;
  ForwardArgs args{};
  args.x = address(x);
  args.y = address(y);
  return row_alignment(problem, args);
}

}  // namespace

TEST_CASE("a plan has a thread for every strip and packet, in whole blocks") {
  const LaunchPlan plan = planned(Pass::kForward, shaped(250340, 4096));
  CHECK(plan.strips == (250340 + plan.strip_tokens - 1) / plan.strip_tokens);
  const std::int64_t threads = plan.strips * (4096 / plan.specialization.vector_channels);
  CHECK(plan.blocks == (threads + plan.specialization.block_threads - 1) / plan.specialization.block_threads);
  CHECK(plan.reduce_blocks == 0);
  CHECK(plan.library == nullptr);
}

TEST_CASE("the backward's reduction has kReduceColumns columns a block: 4 taps, and the bias when there is one") {
  REQUIRE(kernel_constant("kReduceColumns") == 32);
  CHECK(planned(Pass::kBackward, shaped(1, 4096)).reduce_blocks == 4 * 4096 / 32);
  CHECK(planned(Pass::kBackward, shaped(1, 4096, true)).reduce_blocks == 5 * 4096 / 32);
  CHECK(planned(Pass::kBackward, shaped(1, 1)).reduce_blocks == 1);
  CHECK(planned(Pass::kBackward, shaped(1, 9), 2).reduce_blocks == 2);
}

TEST_CASE("many channels and many tokens stay far from the grid's limits") {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (const std::size_t alignment : {2, 4, 16}) {
      for (const auto& [tokens, channels] : std::vector<std::pair<std::int64_t, std::int64_t>>{
               {1, 70000}, {5000000, 128}, {5000000, 2048}, {4096, 65537}, {65535 * 256 + 1, 8}, {2147483647, 4}}) {
        CAPTURE(tokens, channels, alignment);
        const LaunchPlan plan = planned(pass, shaped(tokens, channels), alignment);
        const Specialization& s = plan.specialization;
        const auto threads = static_cast<std::int64_t>(plan.blocks) * s.block_threads;
        CHECK(plan.strips * plan.strip_tokens >= tokens);
        CHECK((plan.strips - 1) * plan.strip_tokens < tokens);
        CHECK(threads >= plan.strips * (channels / s.vector_channels));
        CHECK(threads - s.block_threads < plan.strips * (channels / s.vector_channels));
        CHECK(threads <= std::int64_t{1} << 32);
        CHECK(plan.blocks <= 2147483647u);
      }
    }
  }
}

TEST_CASE("up to 2^32 threads are planned, more are refused with the shape and what to do") {
  // 1 channel a thread: 2^20 channels, 128 tokens a strip.
  constexpr std::int64_t kChannels = 1 << 20;
  Specialization s = planned(Pass::kForward, shaped(1, kChannels), 2).specialization;
  REQUIRE(s.vector_channels == 1);
  const jit::Target& target = jit::find_target("sm_90a");
  const auto plan = [&](std::int64_t strips) {
    return make_launch_plan(shaped(strips * 128, kChannels), s, target, 128, nullptr);
  };
  CHECK(plan(4095).blocks == 4095u * (kChannels / 128));
  const Caught error = caught([&] { (void)plan(4097); });
  CHECK(error.status == CAKE_STATUS_UNSUPPORTED);
  CHECK_THAT(error.message, Catch::Contains("524416 tokens x 1048576 channels need more than 2^32 threads") &&
                                Catch::Contains("split the call"));
  CHECK(caught([&] { (void)plan(std::int64_t{1} << 32); }).status == CAKE_STATUS_UNSUPPORTED);
}

TEST_CASE("the most channels there can be are planned, with one strip and with none") {
  for (const std::int64_t tokens : {0, 1, 16}) {
    CAPTURE(tokens);
    for (const std::int64_t channels : {std::int64_t{2147483647}, std::int64_t{100000000}}) {
      const LaunchPlan plan = planned(Pass::kForward, shaped(tokens, channels), 2);
      CHECK(plan.blocks == (tokens == 0 ? 0 : (channels + 127) / 128));
    }
    const LaunchPlan backward = planned(Pass::kBackward, shaped(tokens, 2147483647, true), 2);
    CHECK(backward.reduce_blocks == (5 * std::int64_t{2147483647} + 31) / 32);
  }
}

TEST_CASE("without tokens the forward launches nothing and the backward its reduction alone, over no strip") {
  std::vector<Launched> seen;
  launches = &seen;
  const driver::DriverApi api = recording_driver(sizeof(cakejit_kernels::ReduceParams));
  const auto shared = std::make_shared<const driver::DriverApi>(api);
  const auto library =
      std::make_shared<const driver::LoadedLibrary>(shared, "code", std::vector<std::string>{"a", "bb"});
  const Problem problem = shaped(0, 64);
  LaunchPlan forward = planned(Pass::kForward, problem);
  forward.library = library;
  launch_forward(api, forward, problem, ForwardArgs{}, nullptr);
  CHECK(seen.empty());
  LaunchPlan backward = planned(Pass::kBackward, problem);
  backward.library = library;
  launch_backward(api, backward, problem, BackwardArgs{}, nullptr);
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].kernel == library->kernel(1));
  CHECK(seen[0].grid == backward.reduce_blocks);
  CHECK(seen[0].attributes == 0);
  cakejit_kernels::ReduceParams params{};
  std::memcpy(&params, seen[0].parameters.data(), sizeof params);
  CHECK(params.strips == 0);
}

TEST_CASE("the reduction is launched programmatically behind the backward, where the GPU can do that") {
  for (const auto& [target, programmatic] :
       {std::pair{"sm_80", false}, {"sm_89", false}, {"sm_90a", true}, {"sm_100a", true}, {"sm_120", true}}) {
    CAPTURE(target);
    std::vector<Launched> seen;
    launches = &seen;
    const driver::DriverApi api = recording_driver(sizeof(cakejit_kernels::ReduceParams));
    const Problem problem = shaped(1000, 64);
    LaunchPlan plan = planned(Pass::kBackward, problem, 16, target);
    plan.library = std::make_shared<const driver::LoadedLibrary>(std::make_shared<const driver::DriverApi>(api), "code",
                                                                 std::vector<std::string>{"a", "bb"});
    CHECK(plan.programmatic_launch == programmatic);
    launch_backward(api, plan, problem, BackwardArgs{}, nullptr);
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].grid == plan.blocks);
    CHECK(seen[0].block == static_cast<unsigned>(plan.specialization.block_threads));
    CHECK(seen[0].attributes == 0);
    CHECK(seen[1].attributes == (programmatic ? 1u : 0u));
    CHECK(seen[1].block == static_cast<unsigned>(kernel_constant("kReduceColumns") * kernel_constant("kReduceRows")));
  }
}

TEST_CASE("the workspace holds 4 fp32 sums a channel and strip, 5 with a bias, and none without tokens") {
  CHECK(device_backward_workspace_bytes(shaped(0, 64)) == 0);
  CHECK(device_backward_workspace_bytes(shaped(1, 64)) == 4 * 64 * 4);
  CHECK(device_backward_workspace_bytes(shaped(1, 64, true)) == 5 * 64 * 4);
  for (const std::int64_t tokens : {1000, 250340, 5000000}) {
    const std::int64_t strips = max_backward_strips(tokens, 70000, CAKE_DTYPE_BF16);
    CHECK(device_backward_workspace_bytes(shaped(tokens, 70000, true)) ==
          static_cast<std::size_t>(strips) * 5 * 70000 * 4);
    CHECK(planned(Pass::kBackward, shaped(tokens, 70000, true)).strips <= strips);
  }
  // The largest problems that validation lets through stay below 2^63 bytes.
  CHECK(device_backward_workspace_bytes(shaped(std::int64_t{1} << 60, 1, true)) < std::size_t{1} << 62);
  CHECK(device_backward_workspace_bytes(shaped(std::int64_t{1} << 29, 2147483647, true)) < std::size_t{1} << 62);
}

TEST_CASE("row alignment is the largest power of two, at most 16, that divides every pointer and row") {
  CHECK(forward_alignment(4096, 8192, 64, 64, CAKE_DTYPE_BF16) == 16);
  CHECK(forward_alignment(4096 + 8, 8192, 64, 64, CAKE_DTYPE_BF16) == 8);
  CHECK(forward_alignment(4096, 8192 + 4, 64, 64, CAKE_DTYPE_BF16) == 4);
  CHECK(forward_alignment(4096 + 8, 8192 + 2, 64, 64, CAKE_DTYPE_BF16) == 2);
  CHECK(forward_alignment(4096, 8192, 60, 64, CAKE_DTYPE_BF16) == 8);
  CHECK(forward_alignment(4096, 8192, 64, 66, CAKE_DTYPE_BF16) == 4);
  CHECK(forward_alignment(4096, 8192, 63, 64, CAKE_DTYPE_BF16) == 2);
  CHECK(forward_alignment(4096, 8192, 63, 64, CAKE_DTYPE_FP32) == 4);
  CHECK(forward_alignment(4096, 8192, 62, 64, CAKE_DTYPE_FP32) == 8);
  CHECK(forward_alignment(0, 0, 64, 64, CAKE_DTYPE_FP32) == 16);
}

TEST_CASE("the backward's row alignment looks at x, dy and dx, and at no other tensor") {
  for (int which = 0; which < 6; ++which) {
    CAPTURE(which);
    Problem problem = shaped(10, 64);
    problem.y_row_stride = 65;
    BackwardArgs args{};
    std::uintptr_t pointers[3] = {4096, 8192, 16384};
    if (which < 3) pointers[which] += 4;
    if (which == 3) problem.x_row_stride = 66;
    if (which == 4) problem.dy_row_stride = 66;
    if (which == 5) problem.dx_row_stride = 66;
    args.x = address(pointers[0]);
    args.dy = address(pointers[1]);
    args.dx = address(pointers[2]);
    args.dweight = address(4);
    args.weight = address(2);
    CHECK(row_alignment(problem, args) == 4);
  }
}
