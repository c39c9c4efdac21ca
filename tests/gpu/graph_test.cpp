// CUDA graphs, streams, load and contexts: the same bits whatever goes on around a call.
#include <memory>

#include "tests/gpu/gpu.hpp"
#include "tests/gpu/training_buffers.hpp"

using namespace cakejit;
using namespace cakejit::test;

namespace {

struct DestroyContext {
  void operator()(cake_context* context) const { cake_context_destroy(context); }
};
using ContextPointer = std::unique_ptr<cake_context, DestroyContext>;

ContextPointer make_context(const cake_context_options* options = nullptr) {
  cake_context* context = nullptr;
  REQUIRE(cake_context_create(options, &context) == CAKE_STATUS_OK);
  return ContextPointer(context);
}

constexpr std::int64_t kTokens = 5000;
constexpr std::int64_t kChannels = 640;

std::vector<std::byte> direct_result(const TrainingBuffers& buffers, cake_context* context,
                                     const device::Stream& stream) {
  buffers.poison();
  INFO(cake_last_error());
  REQUIRE(buffers.run(context, stream) == CAKE_STATUS_OK);
  stream.synchronize();
  return buffers.outputs();
}

}  // namespace

TEST_CASE("a captured graph replays with new document contents of the same count") {
  if (gpu() == nullptr) return;
  const device::Stream stream(*gpu());
  const ContextPointer context = make_context();
  const TrainingBuffers buffers(*gpu(), kTokens, kChannels, 4);
  REQUIRE(cake_causal_conv1d_det_train_prepare(context.get(), &buffers.problem, CAKE_PASS_FORWARD | CAKE_PASS_BACKWARD,
                                               0) == CAKE_STATUS_OK);
  cake_status captured = CAKE_STATUS_INTERNAL;
  const device::Graph graph(*gpu(), stream, [&] { captured = buffers.run(context.get(), stream); });
  REQUIRE(captured == CAKE_STATUS_OK);
  for (const std::vector<std::int32_t>& documents : std::vector<std::vector<std::int32_t>>{
           {0, 17, 1000, 4999, 5000}, {0, 0, 2500, 2500, 5000}, {0, 1, 2, 3, 5000}, {0, 5000, 5000, 5000, 5000}}) {
    buffers.set_documents(documents);
    const auto direct = direct_result(buffers, context.get(), stream);
    buffers.poison();
    graph.launch(stream);
    stream.synchronize();
    CHECK((buffers.outputs() == direct));
  }
}

TEST_CASE("a first call during capture is refused before anything is compiled, and works after prepare") {
  if (gpu() == nullptr) return;
  const device::Stream stream(*gpu());
  const ContextPointer context = make_context();
  const TrainingBuffers buffers(*gpu(), 300, 88, 1);
  buffers.set_documents({0, 300});
  cake_status captured = CAKE_STATUS_OK;
  std::string message;
  {
    const device::Graph graph(*gpu(), stream, [&] {
      captured = buffers.run(context.get(), stream);
      message = cake_last_error();
    });
  }
  CHECK(captured == CAKE_STATUS_CAPTURE);
  CHECK_THAT(message, Catch::Contains("prepare"));
  cake_context_statistics statistics{};
  statistics.struct_size = sizeof statistics;
  REQUIRE(cake_context_get_statistics(context.get(), &statistics) == CAKE_STATUS_OK);
  CHECK(statistics.libraries_built == 0);
  CHECK(statistics.plan_entries == 0);
  CHECK_FALSE(direct_result(buffers, context.get(), stream).empty());
}

TEST_CASE("bits do not depend on the stream, on other work, on the context or on the call's number") {
  if (gpu() == nullptr) return;
  const device::Stream stream(*gpu());
  const device::Stream other(*gpu());
  const ContextPointer context = make_context();
  const TrainingBuffers buffers(*gpu(), kTokens, kChannels, 3);
  buffers.set_documents({0, 1111, 1112, 5000});
  const auto first = direct_result(buffers, context.get(), stream);
  const TrainingBuffers load(*gpu(), 40000, 1024, 1);
  load.set_documents({0, 40000});
  for (int i = 0; i < 20; ++i) {
    if (i % 2 == 0) REQUIRE(load.run(context.get(), other) == CAKE_STATUS_OK);
    CHECK((direct_result(buffers, context.get(), i % 3 == 0 ? other : stream) == first));
  }
  const ContextPointer second = make_context();
  CHECK((direct_result(buffers, second.get(), stream) == first));
  other.synchronize();
}

TEST_CASE("new lengths and document counts compile nothing anew") {
  if (gpu() == nullptr) return;
  const device::Stream stream(*gpu());
  const ContextPointer context = make_context();
  for (const std::int32_t tokens : {1000, 1001, 1300, 4097}) {
    const TrainingBuffers buffers(*gpu(), tokens, 72, 2);
    buffers.set_documents({0, 500, tokens});
    REQUIRE(buffers.run(context.get(), stream) == CAKE_STATUS_OK);
    stream.synchronize();
  }
  cake_context_statistics statistics{};
  statistics.struct_size = sizeof statistics;
  REQUIRE(cake_context_get_statistics(context.get(), &statistics) == CAKE_STATUS_OK);
  CHECK(statistics.libraries_loaded == 2);  // one for each pass
  CHECK(statistics.plan_entries == 8);
}
