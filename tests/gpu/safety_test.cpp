// Wrong contents and wrong calls: no access out of bounds, a healthy CUDA context, and the next good call right.
#include <memory>

#include "tests/gpu/gpu.hpp"
#include "tests/gpu/training_buffers.hpp"

using namespace cakejit;
using namespace cakejit::test;

namespace {

constexpr std::int32_t kTokens = 2000;

const std::vector<std::vector<std::int32_t>> kBadOffsets = {
    {0, 900, 300, 2000},                        // decreasing
    {5, 900, 1500, 2000},                       // does not start at 0
    {0, 900, 1500, 1999},                       // ends before S
    {0, 900, 1500, 2001},                       // ends after S
    {-2147483647, 2147483647, -5, 2147483647},  // anything
    {2000, 2000, 2000, 2000},
    {0, 0, 0, 0},
};

}  // namespace

TEST_CASE("wrong contents of cu_seqlens read and write nothing out of bounds, and the next good call is right") {
  if (gpu() == nullptr) return;
  const device::Stream stream(*gpu());
  const TrainingBuffers buffers(*gpu(), kTokens, 264, 3);
  const std::vector<std::int32_t> good = {0, 900, 1500, 2000};
  buffers.set_documents(good);
  REQUIRE(buffers.run(nullptr, stream) == CAKE_STATUS_OK);
  stream.synchronize();
  const auto right = buffers.outputs();
  for (const auto& bad : kBadOffsets) {
    buffers.set_documents(bad);
    CHECK(buffers.run(nullptr, stream) == CAKE_STATUS_OK);
    stream.synchronize();  // an illegal address would be reported here
    buffers.set_documents(good);
    buffers.poison();
    CHECK(buffers.run(nullptr, stream) == CAKE_STATUS_OK);
    stream.synchronize();
    CHECK((buffers.outputs() == right));
  }
}

TEST_CASE("the debug switch finds wrong contents of cu_seqlens before anything is launched") {
  if (gpu() == nullptr) return;
  const device::Stream stream(*gpu());
  cake_context_options options{};
  options.struct_size = sizeof options;
  options.check_cu_seqlens = 1;
  cake_context* context = nullptr;
  REQUIRE(cake_context_create(&options, &context) == CAKE_STATUS_OK);
  {
    const TrainingBuffers buffers(*gpu(), kTokens, 264, 3);
    buffers.poison();
    const auto poisoned = buffers.outputs();
    for (const auto& bad : kBadOffsets) {
      buffers.set_documents(bad);
      CHECK(buffers.run(context, stream) == CAKE_STATUS_INVALID_ARGUMENT);
      CHECK_THAT(cake_last_error(), Catch::Contains("cu_seqlens["));
      stream.synchronize();
      CHECK((buffers.outputs() == poisoned));
    }
    buffers.set_documents({0, 900, 1500, 2000});
    CHECK(buffers.run(context, stream) == CAKE_STATUS_OK);
    stream.synchronize();
  }
  CHECK(cake_context_destroy(context) == CAKE_STATUS_OK);
}

TEST_CASE("refused calls launch nothing, and the context stays healthy") {
  if (gpu() == nullptr) return;
  const device::Stream stream(*gpu());
  const TrainingBuffers buffers(*gpu(), kTokens, 264, 1);
  buffers.set_documents({0, kTokens});
  buffers.poison();
  const auto poisoned = buffers.outputs();
  auto backward = buffers.backward;
  backward.workspace_bytes -= 1;
  CHECK(cake_causal_conv1d_det_train_backward(nullptr, &buffers.problem, &backward, stream.handle()) ==
        CAKE_STATUS_INVALID_ARGUMENT);
  auto problem = buffers.problem;
  problem.dy_row_stride = 0;  // an expanded dy
  CHECK(cake_causal_conv1d_det_train_backward(nullptr, &problem, &buffers.backward, stream.handle()) ==
        CAKE_STATUS_INVALID_ARGUMENT);
  auto forward = buffers.forward;
  forward.x = static_cast<const char*>(forward.x) + 1;
  CHECK(cake_causal_conv1d_det_train_forward(nullptr, &buffers.problem, &forward, stream.handle()) ==
        CAKE_STATUS_INVALID_ARGUMENT);
  stream.synchronize();
  CHECK((buffers.outputs() == poisoned));
  CHECK(buffers.run(nullptr, stream) == CAKE_STATUS_OK);
  stream.synchronize();
}
