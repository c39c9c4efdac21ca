// The C++ API over the shared library alone, on the host route.
#include "cakejit/cakejit.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

// One channel, documents {0, 1, 2} and {3, 4}, weights 1 to 4, identity: sums that are exact in fp32.
struct Small {
  std::vector<float> x = {1, 2, 3, 4, 5};
  std::vector<float> weight = {1, 2, 3, 4};
  std::vector<float> dy = {1, 1, 1, 1, 1};
  std::vector<std::int64_t> offsets = {0, 3, 5};
  std::vector<float> y = std::vector<float>(5), dx = std::vector<float>(5), dweight = std::vector<float>(4);
  cakejit::Problem problem = cakejit::make_problem({.device = CAKE_DEVICE_HOST,
                                                    .tokens = 5,
                                                    .channels = 1,
                                                    .documents = 2,
                                                    .dtype = CAKE_DTYPE_FP32,
                                                    .cu_seqlens_dtype = CAKE_DTYPE_INT64,
                                                    .activation = CAKE_ACTIVATION_IDENTITY});

  [[nodiscard]] cakejit::ForwardTensors forward_tensors() {
    return {.x = x.data(), .weight = weight.data(), .cu_seqlens = offsets.data(), .y = y.data()};
  }
};

cake_status status_of(const auto& call) {
  try {
    call();
  } catch (const cakejit::Error& error) {
    return error.status();
  }
  return CAKE_STATUS_OK;
}

}  // namespace

TEST_CASE("make_problem fills what is not said: contiguous rows, parameters like the activations, fp32 gradients") {
  const auto problem = cakejit::make_problem({.tokens = 10, .channels = 24, .documents = 3, .bias = true});
  CHECK(problem.struct_size == sizeof(cakejit::Problem));
  CHECK(problem.device == CAKE_DEVICE_CUDA);
  CHECK(problem.dtype == CAKE_DTYPE_BF16);
  CHECK(problem.weight_dtype == CAKE_DTYPE_BF16);
  CHECK(problem.bias_dtype == CAKE_DTYPE_BF16);
  CHECK(problem.weight_grad_dtype == CAKE_DTYPE_FP32);
  CHECK(problem.bias_grad_dtype == CAKE_DTYPE_FP32);
  CHECK(problem.cu_seqlens_dtype == CAKE_DTYPE_INT32);
  CHECK(problem.activation == CAKE_ACTIVATION_SILU);
  CHECK(problem.x_row_stride == 24);
  CHECK(problem.y_row_stride == 24);
  CHECK(problem.dy_row_stride == 24);
  CHECK(problem.dx_row_stride == 24);
  CHECK(cakejit::is_supported(problem));
}

TEST_CASE("make_problem without a bias has no bias dtypes") {
  const auto problem = cakejit::make_problem({.tokens = 1, .channels = 1, .documents = 1});
  CHECK(problem.bias_dtype == CAKE_DTYPE_NONE);
  CHECK(problem.bias_grad_dtype == CAKE_DTYPE_NONE);
}

TEST_CASE("make_problem keeps what is said, and a row stride of 0 is refused, not taken for a default") {
  const auto wide = cakejit::make_problem({.tokens = 4,
                                           .channels = 8,
                                           .documents = 1,
                                           .dtype = CAKE_DTYPE_FP16,
                                           .weight_dtype = CAKE_DTYPE_FP32,
                                           .bias = true,
                                           .x_row_stride = 32});
  CHECK(wide.x_row_stride == 32);
  CHECK(wide.bias_dtype == CAKE_DTYPE_FP32);

  const auto expanded = cakejit::make_problem({.tokens = 4, .channels = 8, .documents = 1, .dy_row_stride = 0});
  std::string reason;
  CHECK_FALSE(cakejit::is_supported(expanded, CAKE_PASS_BACKWARD, &reason));
  CHECK_THAT(reason, Catch::Contains("dy_row_stride is 0"));
  CHECK(cakejit::is_supported(expanded, CAKE_PASS_FORWARD, &reason));
  CHECK(reason.empty());
}

TEST_CASE("forward and backward compute the operation document by document") {
  Small s;
  cakejit::forward(s.problem, s.forward_tensors());
  CHECK(s.y == std::vector<float>{4, 11, 20, 16, 32});

  std::vector<std::byte> workspace(cakejit::backward_workspace_bytes(s.problem));
  const cakejit::Context context({.host_threads = 1});
  cakejit::backward(s.problem,
                    cakejit::BackwardTensors{.x = s.x.data(),
                                             .weight = s.weight.data(),
                                             .dy = s.dy.data(),
                                             .cu_seqlens = s.offsets.data(),
                                             .dx = s.dx.data(),
                                             .dweight = s.dweight.data(),
                                             .workspace = workspace.data(),
                                             .workspace_bytes = workspace.size()},
                    nullptr, context);
  CHECK(s.dx == std::vector<float>{9, 7, 4, 7, 4});
  CHECK(s.dweight == std::vector<float>{0, 1, 7, 15});
}

TEST_CASE("the C structs themselves are accepted") {
  Small s;
  const cakejit::ForwardArgs args = s.forward_tensors();
  CHECK(args.struct_size == sizeof(cakejit::ForwardArgs));
  cakejit::forward(s.problem, args);
  CHECK(s.y[4] == 32);
}

TEST_CASE("a failed call throws the C call's status and message, and writes nothing") {
  Small s;
  s.y.assign(5, -1);
  s.offsets = {0, 4, 3};
  try {
    cakejit::forward(s.problem, s.forward_tensors());
    FAIL("no error");
  } catch (const cakejit::Error& error) {
    CHECK(error.status() == CAKE_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(error.what(), Catch::Contains("cu_seqlens[2]"));
    CHECK(std::string(error.what()) == cake_last_error());
  }
  CHECK(s.y == std::vector<float>(5, -1));
}

TEST_CASE("a problem without channels is refused by every function") {
  const auto problem = cakejit::make_problem({});
  CHECK_FALSE(cakejit::is_supported(problem));
  CHECK(status_of([&] { (void)cakejit::forward_workspace_bytes(problem); }) == CAKE_STATUS_INVALID_ARGUMENT);
  CHECK(status_of([&] { (void)cakejit::backward_workspace_bytes(problem); }) == CAKE_STATUS_INVALID_ARGUMENT);
  CHECK(status_of([&] { cakejit::prepare(problem); }) == CAKE_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("a context's options are checked when it is made") {
  CHECK(status_of([] { const cakejit::Context context({.jit = "perhaps"}); }) == CAKE_STATUS_INVALID_ARGUMENT);
  CHECK(status_of([] { const cakejit::Context context({.host_threads = -1}); }) == CAKE_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("a context has one owner: it moves, and an empty one is no stand-in for the default context") {
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<cakejit::Context>);
  Small s;
  cakejit::Context first({.host_threads = 1});
  cakejit::Context second = std::move(first);
  cakejit::forward(s.problem, s.forward_tensors(), nullptr, second);
  // NOLINTNEXTLINE(bugprone-use-after-move): what is tested
  CHECK(status_of([&] { cakejit::forward(s.problem, s.forward_tensors(), nullptr, first); }) ==
        CAKE_STATUS_INVALID_ARGUMENT);

  first = std::move(second);
  cake_context* native = first.release();
  REQUIRE(native != nullptr);
  second = cakejit::Context::from_native(native);
  CHECK(second.native() == native);
  CHECK(cakejit::statistics(second).libraries_built == 0);
}

TEST_CASE("the library is of the version that the headers say") {
  CHECK(cakejit::version() == CAKEJIT_VERSION_STRING);
}
