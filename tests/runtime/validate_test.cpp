#include "runtime/validate.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <vector>

#include "tests/runtime/samples.hpp"

using namespace cakejit::runtime;
using namespace cakejit::runtime::testing;

namespace {

constexpr std::uint32_t kForward = CAKE_PASS_FORWARD;
constexpr std::uint32_t kBackward = CAKE_PASS_BACKWARD;
constexpr std::uint32_t kBoth = kForward | kBackward;
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();

struct BadProblem {
  std::string message;  // what the error must hold: the argument, its value, what is allowed
  std::function<void(Problem&)> spoil;
  std::uint32_t passes = kBoth;
};

void check_refused(const BadProblem& bad) {
  CAPTURE(bad.message);
  Problem problem = sample_problem();
  bad.spoil(problem);
  const Caught error = caught([&] { validate_problem(problem, bad.passes); });
  CHECK(error.status == CAKE_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(error.message, Catch::Contains(bad.message));
}

void check_accepted(const std::string& what, const std::function<void(Problem&)>& change, std::uint32_t passes) {
  CAPTURE(what);
  Problem problem = sample_problem();
  change(problem);
  CHECK(caught([&] { validate_problem(problem, passes); }).message.empty());
}

}  // namespace

TEST_CASE("the sample problem is good for every set of passes, and no other set exists") {
  for (const std::uint32_t passes : {kForward, kBackward, kBoth}) {
    check_accepted(
        "sample", [](Problem&) {}, passes);
  }
  for (const std::uint32_t passes : {0u, 4u, 7u, 0x80000001u}) {
    check_refused({"it must be CAKE_PASS_FORWARD (1), CAKE_PASS_BACKWARD (2) or both", [](Problem&) {}, passes});
  }
}

TEST_CASE("a shape out of range is refused with its value and the range") {
  const std::vector<BadProblem> table = {
      {"tokens is -1; it must be 0 or more", [](Problem& p) { p.tokens = -1; }},
      {"tokens is -9223372036854775808; it must be 0 or more", [](Problem& p) { p.tokens = kMin64; }},
      {"channels is 0; it must be from 1 to 2147483647", [](Problem& p) { p.channels = 0; }},
      {"channels is -8; it must be from 1 to 2147483647", [](Problem& p) { p.channels = -8; }},
      {"channels is 2147483648; it must be from 1 to 2147483647", [](Problem& p) { p.channels = 2147483648; }},
      {"channels is 9223372036854775807; it must be from 1", [](Problem& p) { p.channels = kMax64; }},
      {"documents is -1; it must be", [](Problem& p) { p.documents = -1; }},
      {"documents is 9223372036854775807; it must be", [](Problem& p) { p.documents = kMax64; }},
      {"documents is 0 but tokens is 10; every token must belong to a document", [](Problem& p) { p.documents = 0; }},
      {"cu_seqlens_dtype is INT32 but tokens is 2147483648; use INT64", [](Problem& p) { p.tokens = 2147483648; }},
      {"x_row_stride is 8 elements with 9223372036854775807 tokens; their product must not exceed 2^60",
       [](Problem& p) {
         p.tokens = kMax64;
         p.cu_seqlens_dtype = CAKE_DTYPE_INT64;
       }},
  };
  for (const BadProblem& bad : table) check_refused(bad);
}

TEST_CASE("a row stride below the channels, or beyond what 64-bit offsets hold, is refused in each pass that uses it") {
  struct Stride {
    std::string name;
    std::int64_t Problem::*field;
    std::uint32_t passes;
  };
  const std::vector<Stride> strides = {{"x_row_stride", &Problem::x_row_stride, kForward},
                                       {"x_row_stride", &Problem::x_row_stride, kBackward},
                                       {"y_row_stride", &Problem::y_row_stride, kForward},
                                       {"dy_row_stride", &Problem::dy_row_stride, kBackward},
                                       {"dx_row_stride", &Problem::dx_row_stride, kBackward}};
  for (const auto& [name, field, passes] : strides) {
    for (const std::int64_t stride : {std::int64_t{7}, std::int64_t{0}, std::int64_t{-8}, kMin64}) {
      check_refused({name + " is " + std::to_string(stride) + " elements; it must be at least channels = 8",
                     [&](Problem& p) { p.*field = stride; }, passes});
    }
    for (const std::int64_t stride : {(std::int64_t{1} << 60) / 10 + 1, kMax64}) {
      check_refused({name + " is " + std::to_string(stride) + " elements with 10 tokens; their product must not exceed",
                     [&](Problem& p) { p.*field = stride; }, passes});
    }
  }
}

TEST_CASE("a code that is no such type is refused with its name, its number and the ones allowed") {
  const std::vector<BadProblem> table = {
      {"device is code 2; allowed: CAKE_DEVICE_HOST (0), CAKE_DEVICE_CUDA (1)",
       [](Problem& p) { set_code(p.device, 2); }},
      {"device is code -1; allowed", [](Problem& p) { set_code(p.device, -1); }},
      {"activation is code 2; allowed: IDENTITY (0), SILU (1)", [](Problem& p) { set_code(p.activation, 2); }},
      {"activation is code -7; allowed", [](Problem& p) { set_code(p.activation, -7); }},
      {"dtype is NONE (code 0); allowed here: BF16, FP16, FP32", [](Problem& p) { p.dtype = CAKE_DTYPE_NONE; }},
      {"dtype is INT32 (code 4); allowed here: BF16, FP16, FP32", [](Problem& p) { p.dtype = CAKE_DTYPE_INT32; }},
      {"dtype is no cake_dtype (code 6); allowed", [](Problem& p) { set_code(p.dtype, 6); }},
      {"dtype is no cake_dtype (code -1); allowed", [](Problem& p) { set_code(p.dtype, -1); }},
      {"weight_dtype is FP16 (code 2); allowed here: BF16, FP32", [](Problem& p) { p.weight_dtype = CAKE_DTYPE_FP16; }},
      {"weight_dtype is NONE (code 0); allowed here: BF16, FP32", [](Problem& p) { p.weight_dtype = CAKE_DTYPE_NONE; }},
      {"weight_dtype is BF16 (code 1); allowed here: FP32", [](Problem& p) { p.dtype = CAKE_DTYPE_FP32; }},
      {"weight_dtype is no cake_dtype (code 2147483647); allowed here: BF16, FP32",
       [](Problem& p) { set_code(p.weight_dtype, 2147483647); }},
      {"bias_dtype is FP16 (code 2); allowed here: BF16, FP32", [](Problem& p) { p.bias_dtype = CAKE_DTYPE_FP16; }},
      {"bias_dtype is INT64 (code 5); allowed", [](Problem& p) { p.bias_dtype = CAKE_DTYPE_INT64; }},
      {"bias_dtype is no cake_dtype (code -1); allowed", [](Problem& p) { set_code(p.bias_dtype, -1); }},
      {"cu_seqlens_dtype is NONE (code 0); allowed here: INT32, INT64",
       [](Problem& p) { p.cu_seqlens_dtype = CAKE_DTYPE_NONE; }},
      {"cu_seqlens_dtype is FP32 (code 3); allowed here: INT32, INT64",
       [](Problem& p) { p.cu_seqlens_dtype = CAKE_DTYPE_FP32; }},
      {"cu_seqlens_dtype is no cake_dtype (code 64); allowed", [](Problem& p) { set_code(p.cu_seqlens_dtype, 64); }},
      {"weight_grad_dtype is NONE (code 0); allowed here: BF16, FP32",
       [](Problem& p) { p.weight_grad_dtype = CAKE_DTYPE_NONE; }, kBackward},
      {"weight_grad_dtype is BF16 (code 1); allowed here: FP32",
       [](Problem& p) {
         p.weight_dtype = CAKE_DTYPE_FP32;
         p.weight_grad_dtype = CAKE_DTYPE_BF16;
       },
       kBackward},
      {"weight_grad_dtype is no cake_dtype (code 9); allowed", [](Problem& p) { set_code(p.weight_grad_dtype, 9); },
       kBackward},
      {"bias_grad_dtype is FP16 (code 2); allowed here: BF16, FP32",
       [](Problem& p) { p.bias_grad_dtype = CAKE_DTYPE_FP16; }, kBackward},
      {"bias_grad_dtype is NONE (code 0); allowed here: BF16, FP32",
       [](Problem& p) { p.bias_grad_dtype = CAKE_DTYPE_NONE; }, kBackward},
  };
  for (const BadProblem& bad : table) check_refused(bad);
}

TEST_CASE("fields of a pass that is not asked for are not looked at") {
  check_accepted(
      "forward",
      [](Problem& p) {
        p.dy_row_stride = 0;
        p.dx_row_stride = -1;
        set_code(p.weight_grad_dtype, 99);
        set_code(p.bias_grad_dtype, -99);
      },
      kForward);
  check_accepted(
      "backward", [](Problem& p) { p.y_row_stride = -1; }, kBackward);
  check_accepted(
      "no bias",
      [](Problem& p) {
        p.bias_dtype = CAKE_DTYPE_NONE;
        set_code(p.bias_grad_dtype, 77);
      },
      kBoth);
}

TEST_CASE("the edges of what is legal are accepted") {
  check_accepted(
      "no tokens, no documents", [](Problem& p) { p.tokens = p.documents = 0; }, kBoth);
  check_accepted(
      "no tokens, empty documents", [](Problem& p) { p.tokens = 0; }, kBoth);
  check_accepted(
      "more documents than tokens", [](Problem& p) { p.documents = 5000; }, kBoth);
  check_accepted(
      "slices of wider tensors",
      [](Problem& p) {
        p.x_row_stride = 9;
        p.y_row_stride = 24;
        p.dy_row_stride = 4096;
        p.dx_row_stride = (std::int64_t{1} << 60) / 10;
      },
      kBoth);
  check_accepted(
      "one channel", [](Problem& p) { p.channels = 1; }, kBoth);
  check_accepted(
      "int32 offsets at their end", [](Problem& p) { p.tokens = 2147483647; }, kBoth);
  check_accepted(
      "more tokens than int32 counts",
      [](Problem& p) {
        p.tokens = std::int64_t{1} << 40;
        p.cu_seqlens_dtype = CAKE_DTYPE_INT64;
      },
      kBoth);
  check_accepted(
      "the most channels",
      [](Problem& p) { p.channels = p.x_row_stride = p.y_row_stride = p.dy_row_stride = p.dx_row_stride = 2147483647; },
      kBoth);
}

TEST_CASE("every allowed pair of dtypes is accepted") {
  for (const cake_dtype dtype : {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16, CAKE_DTYPE_FP32}) {
    for (const cake_dtype parameter : {dtype, CAKE_DTYPE_FP32}) {
      for (const cake_dtype gradient : {parameter, CAKE_DTYPE_FP32}) {
        check_accepted(
            "dtypes",
            [&](Problem& p) {
              p.dtype = dtype;
              p.weight_dtype = p.bias_dtype = parameter;
              p.weight_grad_dtype = p.bias_grad_dtype = gradient;
            },
            kBoth);
      }
    }
  }
}
