// Host calls through the C ABI: what a refused call leaves alone, and one context under many threads.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <thread>
#include <vector>

#include "tests/runtime/samples.hpp"

using namespace cakejit::runtime::testing;

namespace {

constexpr std::int64_t kTokens = 96;
constexpr std::int64_t kChannels = 5;
constexpr std::int64_t kOffsets[4] = {0, 40, 41, kTokens};

// An fp32 problem with the identity: its results are sums of small whole numbers, exact in any order.
struct WholeNumbers {
  cake_causal_conv1d_det_train_problem problem = sample_problem();
  std::vector<float> x, dy, weight, bias;
  std::vector<float> y, dx, dweight, dbias;
  std::vector<std::max_align_t> workspace;

  explicit WholeNumbers(int seed)
      : y(kTokens * kChannels, -777.0f), dx(y), dweight(4 * kChannels, -777.0f), dbias(kChannels, -777.0f) {
    problem.tokens = kTokens;
    problem.channels = kChannels;
    problem.dtype = problem.weight_dtype = problem.bias_dtype = CAKE_DTYPE_FP32;
    problem.cu_seqlens_dtype = CAKE_DTYPE_INT64;
    problem.activation = CAKE_ACTIVATION_IDENTITY;
    problem.x_row_stride = problem.y_row_stride = problem.dy_row_stride = problem.dx_row_stride = kChannels;
    int state = seed;
    const auto fill = [&](std::vector<float>& values, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        state = (state * 75 + 74) % 65537;
        values.push_back(static_cast<float>(state % 7 - 3));
      }
    };
    fill(x, kTokens * kChannels);
    fill(dy, kTokens * kChannels);
    fill(weight, 4 * kChannels);
    fill(bias, kChannels);
    std::size_t bytes = 0;
    REQUIRE(cake_causal_conv1d_det_train_backward_workspace_bytes(&problem, &bytes) == CAKE_STATUS_OK);
    workspace.resize(bytes / sizeof(std::max_align_t) + 1);
  }

  cake_causal_conv1d_det_train_forward_args forward_args() {
    return {.struct_size = sizeof(cake_causal_conv1d_det_train_forward_args),
            .x = x.data(),
            .weight = weight.data(),
            .bias = bias.data(),
            .cu_seqlens = kOffsets,
            .cu_seqlens_host = nullptr,
            .y = y.data(),
            .workspace = nullptr,
            .workspace_bytes = 0};
  }

  cake_causal_conv1d_det_train_backward_args backward_args() {
    return {.struct_size = sizeof(cake_causal_conv1d_det_train_backward_args),
            .x = x.data(),
            .weight = weight.data(),
            .bias = bias.data(),
            .dy = dy.data(),
            .cu_seqlens = kOffsets,
            .cu_seqlens_host = nullptr,
            .dx = dx.data(),
            .dweight = dweight.data(),
            .dbias = dbias.data(),
            .workspace = workspace.data(),
            .workspace_bytes = workspace.size() * sizeof(std::max_align_t)};
  }

  // No output is other than before any call.
  [[nodiscard]] bool untouched() const {
    for (const auto* values : {&y, &dx, &dweight, &dbias}) {
      for (const float value : *values) {
        if (value != -777.0f) return false;
      }
    }
    return true;
  }

  // Both passes on `context`; true if every element is what the definition says.
  bool right(cake_context* context) {
    const auto forward = forward_args();
    const auto backward = backward_args();
    return cake_causal_conv1d_det_train_forward(context, &problem, &forward, nullptr) == CAKE_STATUS_OK &&
           cake_causal_conv1d_det_train_backward(context, &problem, &backward, nullptr) == CAKE_STATUS_OK && matches();
  }

 private:
  [[nodiscard]] bool matches() const {
    std::vector<float> want_y(y.size());
    std::vector<float> want_dx(dx.size());
    std::vector<float> want_dweight(dweight.size());
    std::vector<float> want_dbias(dbias.size());
    for (std::size_t document = 0; document < 3; ++document) {
      for (std::int64_t t = kOffsets[document]; t < kOffsets[document + 1]; ++t) {
        for (std::int64_t c = 0; c < kChannels; ++c) {
          const auto at = static_cast<std::size_t>(t * kChannels + c);
          want_y[at] = bias[static_cast<std::size_t>(c)];
          want_dbias[static_cast<std::size_t>(c)] += dy[at];
          for (std::int64_t k = 0; k < 4; ++k) {
            if (t - 3 + k < kOffsets[document]) continue;
            const auto from = static_cast<std::size_t>((t - 3 + k) * kChannels + c);
            const auto tap = static_cast<std::size_t>(c * 4 + k);
            want_y[at] += weight[tap] * x[from];
            want_dx[from] += weight[tap] * dy[at];
            want_dweight[tap] += dy[at] * x[from];
          }
        }
      }
    }
    return y == want_y && dx == want_dx && dweight == want_dweight && dbias == want_dbias;
  }
};

}  // namespace

TEST_CASE("a refused call writes nothing, and the next good call is right") {
  cake_context* context = nullptr;
  REQUIRE(cake_context_create(nullptr, &context) == CAKE_STATUS_OK);
  using Forward = cake_causal_conv1d_det_train_forward_args;
  using Backward = cake_causal_conv1d_det_train_backward_args;
  static constexpr std::int64_t kDecreasing[4] = {0, 41, 40, kTokens};
  static constexpr std::int64_t kShort[4] = {0, 40, 41, kTokens - 1};
  const std::vector<std::function<void(WholeNumbers&, Forward&, Backward&)>> mistakes = {
      [](WholeNumbers& n, Forward&, Backward&) { n.problem.channels = -1; },
      [](WholeNumbers& n, Forward&, Backward&) { n.problem.x_row_stride = kChannels - 1; },
      [](WholeNumbers& n, Forward&, Backward&) { set_code(n.problem.dtype, 17); },
      [](WholeNumbers& n, Forward&, Backward&) { n.problem.struct_size = 1; },
      [](WholeNumbers&, Forward& f, Backward& b) { f.cu_seqlens = b.cu_seqlens = kDecreasing; },
      [](WholeNumbers&, Forward& f, Backward& b) { f.cu_seqlens = b.cu_seqlens = kShort; },
      [](WholeNumbers&, Forward& f, Backward& b) { f.weight = b.weight = nullptr; },
      [](WholeNumbers&, Forward& f, Backward& b) { f.bias = b.bias = nullptr; },
      [](WholeNumbers&, Forward& f, Backward& b) { f.x = b.x = moved(f.x, 1); },
      [](WholeNumbers&, Forward& f, Backward& b) {
        f.struct_size = 0;
        b.workspace_bytes = 1;
      },
  };
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    CAPTURE(i);
    WholeNumbers numbers(static_cast<int>(i));
    const auto good_problem = numbers.problem;
    auto forward = numbers.forward_args();
    auto backward = numbers.backward_args();
    mistakes[i](numbers, forward, backward);
    CHECK(cake_causal_conv1d_det_train_forward(context, &numbers.problem, &forward, nullptr) ==
          CAKE_STATUS_INVALID_ARGUMENT);
    CHECK(cake_causal_conv1d_det_train_backward(context, &numbers.problem, &backward, nullptr) ==
          CAKE_STATUS_INVALID_ARGUMENT);
    CHECK(numbers.untouched());
    numbers.problem = good_problem;
    CHECK(numbers.right(context));
  }
  CHECK(cake_context_destroy(context) == CAKE_STATUS_OK);
}

TEST_CASE("prepare on the host checks its arguments and does nothing") {
  WholeNumbers numbers(1);
  const auto prepare = [&](std::uint32_t passes, std::size_t alignment) {
    return cake_causal_conv1d_det_train_prepare(nullptr, &numbers.problem, passes, alignment);
  };
  for (const std::size_t alignment : {0, 4, 8, 16}) CHECK(prepare(3, alignment) == CAKE_STATUS_OK);
  for (const std::size_t alignment : {1, 2, 3, 12, 32}) {
    CHECK(prepare(3, alignment) == CAKE_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(cake_last_error(), Catch::Contains("it must be 0 (for 16) or a power of two from 4 to 16"));
  }
  CHECK(prepare(0, 16) == CAKE_STATUS_INVALID_ARGUMENT);
  CHECK(numbers.untouched());
}

TEST_CASE("a call without tokens or documents writes zero gradients") {
  WholeNumbers numbers(2);
  numbers.problem.tokens = numbers.problem.documents = 0;
  auto forward = numbers.forward_args();
  forward.x = forward.cu_seqlens = nullptr;
  forward.y = nullptr;
  CHECK(cake_causal_conv1d_det_train_forward(nullptr, &numbers.problem, &forward, nullptr) == CAKE_STATUS_OK);
  auto backward = numbers.backward_args();
  backward.x = backward.dy = backward.cu_seqlens = nullptr;
  backward.dx = backward.workspace = nullptr;
  backward.workspace_bytes = 0;
  CHECK(cake_causal_conv1d_det_train_backward(nullptr, &numbers.problem, &backward, nullptr) == CAKE_STATUS_OK);
  CHECK(numbers.dweight == std::vector<float>(numbers.dweight.size(), 0.0f));
  CHECK(numbers.dbias == std::vector<float>(numbers.dbias.size(), 0.0f));
}

TEST_CASE("sixteen threads on one context, good calls beside bad ones, each get their own results and errors") {
  cake_context_options options{};
  options.struct_size = sizeof options;
  options.host_threads = 2;
  cake_context* context = nullptr;
  REQUIRE(cake_context_create(&options, &context) == CAKE_STATUS_OK);
  std::vector<int> wrong(16, 0);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&count, context, id = static_cast<int>(&count - wrong.data())] {
      for (int round = 0; round < 20; ++round) {
        WholeNumbers numbers(100 * id + round);
        if (!numbers.right(context)) ++count;
        auto args = numbers.forward_args();
        numbers.problem.tokens = -1 - id;
        const cake_status status = cake_causal_conv1d_det_train_forward(context, &numbers.problem, &args, nullptr);
        const std::string expected = "tokens is " + std::to_string(-1 - id) + ";";
        if (status != CAKE_STATUS_INVALID_ARGUMENT || !std::string(cake_last_error()).starts_with(expected)) ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(16, 0));
  CHECK(cake_context_destroy(context) == CAKE_STATUS_OK);
}
