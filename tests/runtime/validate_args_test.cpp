#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "runtime/validate.hpp"
#include "tests/runtime/samples.hpp"

using namespace cakejit::runtime;
using namespace cakejit::runtime::testing;

namespace {

constexpr std::size_t kWorkspaceNeeded = 1000;

template <class Args>
struct BadArgs {
  std::string message;  // what the error must hold: the argument, its value, what is allowed
  std::function<void(Problem&, Args&)> spoil;
};

Caught validated(const Problem& problem, const ForwardArgs& args) {
  return caught([&] { validate_forward_args(problem, args, args.workspace == nullptr ? 0 : kWorkspaceNeeded); });
}

Caught validated(const Problem& problem, const BackwardArgs& args) {
  return caught([&] { validate_backward_args(problem, args, kWorkspaceNeeded); });
}

ForwardArgs good_args(SampleBuffers& buffers, ForwardArgs*) {
  return buffers.forward();
}
BackwardArgs good_args(SampleBuffers& buffers, BackwardArgs*) {
  return buffers.backward();
}

template <class Args>
void check_refused(const BadArgs<Args>& bad) {
  CAPTURE(bad.message);
  for (const cake_device device : {CAKE_DEVICE_HOST, CAKE_DEVICE_CUDA}) {
    SampleBuffers buffers;
    Problem problem = sample_problem();
    problem.device = device;
    Args args = good_args(buffers, static_cast<Args*>(nullptr));
    REQUIRE(validated(problem, args).message.empty());
    bad.spoil(problem, args);
    const Caught error = validated(problem, args);
    CHECK(error.status == CAKE_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(error.message, Catch::Contains(bad.message));
  }
}

template <class Args>
void check_accepted(const std::string& what, const std::function<void(Problem&, Args&)>& change) {
  CAPTURE(what);
  for (const cake_device device : {CAKE_DEVICE_HOST, CAKE_DEVICE_CUDA}) {
    SampleBuffers buffers;
    Problem problem = sample_problem();
    problem.device = device;
    Args args = good_args(buffers, static_cast<Args*>(nullptr));
    change(problem, args);
    CHECK(validated(problem, args).message.empty());
  }
}

// What both passes refuse in the arguments that they share.
template <class Args>
std::vector<BadArgs<Args>> shared_table() {
  return {
      {"x is NULL; it must point to BF16 elements", [](Problem&, Args& a) { a.x = nullptr; }},
      {"x is at 0x", [](Problem&, Args& a) { a.x = moved(a.x, 1); }},
      {"; FP32 elements must be aligned to 4 bytes",
       [](Problem& p, Args& a) {
         p.dtype = p.weight_dtype = p.bias_dtype = CAKE_DTYPE_FP32;
         a.x = moved(a.x, 2);
       }},
      {"weight is NULL; it must point to BF16 elements", [](Problem&, Args& a) { a.weight = nullptr; }},
      {"weight is NULL; it must point to FP32 elements",
       [](Problem& p, Args& a) {
         p.weight_dtype = CAKE_DTYPE_FP32;
         a.weight = nullptr;
       }},
      {"weight is at 0x", [](Problem&, Args& a) { a.weight = moved(a.weight, 1); }},
      {"bias is NULL; it must point to BF16 elements", [](Problem&, Args& a) { a.bias = nullptr; }},
      {"bias is given but the problem's bias_dtype is NONE; pass NULL or set bias_dtype",
       [](Problem& p, Args&) { p.bias_dtype = CAKE_DTYPE_NONE; }},
      {"bias is at 0x",
       [](Problem& p, Args& a) {
         p.bias_dtype = CAKE_DTYPE_FP32;
         a.bias = moved(a.bias, 2);
       }},
      {"cu_seqlens is NULL; it must point to INT32 elements", [](Problem&, Args& a) { a.cu_seqlens = nullptr; }},
      {"cu_seqlens is at 0x", [](Problem&, Args& a) { a.cu_seqlens = moved(a.cu_seqlens, 2); }},
      {"; INT64 elements must be aligned to 8 bytes",
       [](Problem& p, Args& a) {
         p.cu_seqlens_dtype = CAKE_DTYPE_INT64;
         a.cu_seqlens = moved(a.cu_seqlens, 4);
       }},
  };
}

}  // namespace

TEMPLATE_TEST_CASE("a bad pointer that both passes take is refused with its name, address and need", "", ForwardArgs,
                   BackwardArgs) {
  for (const auto& bad : shared_table<TestType>()) check_refused(bad);
}

TEST_CASE("a bad pointer of the forward is refused, and so is an output on its input") {
  const std::vector<BadArgs<ForwardArgs>> table = {
      {"y is NULL; it must point to BF16 elements", [](Problem&, ForwardArgs& a) { a.y = nullptr; }},
      {"y is at 0x", [](Problem&, ForwardArgs& a) { a.y = moved(a.y, 1); }},
      {"overlaps x (10 x 16 bytes", [](Problem&, ForwardArgs& a) { a.y = moved(a.x, 0); }},
      {"an output must not overlap an input", [](Problem&, ForwardArgs& a) { a.y = moved(a.x, 158); }},
      {"y (10 x 16 bytes", [](Problem&, ForwardArgs& a) { a.y = moved(a.x, -158); }},
      {"overlaps weight (1 x 64 bytes", [](Problem&, ForwardArgs& a) { a.y = moved(a.weight, 62); }},
      {"overlaps bias (1 x 16 bytes", [](Problem&, ForwardArgs& a) { a.y = moved(a.bias, 14); }},
      {"overlaps cu_seqlens (1 x 16 bytes", [](Problem&, ForwardArgs& a) { a.y = moved(a.cu_seqlens, 8); }},
      {"x (10 x 16 bytes from 0xfffffffffffffff0, 16 apart) would end beyond the address space",
       [](Problem&, ForwardArgs& a) { a.x = reinterpret_cast<void*>(~std::uintptr_t{15}); }},
  };
  for (const auto& bad : table) check_refused(bad);
}

TEST_CASE("a bad pointer of the backward is refused, and so is an output on an input or on another output") {
  using Args = BackwardArgs;
  const std::vector<BadArgs<Args>> table = {
      {"dy is NULL; it must point to BF16 elements", [](Problem&, Args& a) { a.dy = nullptr; }},
      {"dy is at 0x", [](Problem&, Args& a) { a.dy = moved(a.dy, 1); }},
      {"dx is NULL; it must point to BF16 elements", [](Problem&, Args& a) { a.dx = nullptr; }},
      {"dx is at 0x", [](Problem&, Args& a) { a.dx = moved(a.dx, 3); }},
      {"dweight is NULL; it must point to FP32 elements", [](Problem&, Args& a) { a.dweight = nullptr; }},
      {"dweight is at 0x", [](Problem&, Args& a) { a.dweight = moved(a.dweight, 2); }},
      {"dbias is NULL; it must point to FP32 elements", [](Problem&, Args& a) { a.dbias = nullptr; }},
      {"dbias is at 0x", [](Problem&, Args& a) { a.dbias = moved(a.dbias, 1); }},
      {"dbias is given but the problem's bias_dtype is NONE",
       [](Problem& p, Args& a) {
         p.bias_dtype = CAKE_DTYPE_NONE;
         a.bias = nullptr;
       }},
      {"overlaps x (10 x 16 bytes", [](Problem&, Args& a) { a.dx = moved(a.x, 0); }},
      {"overlaps dy (10 x 16 bytes", [](Problem&, Args& a) { a.dx = moved(a.dy, 158); }},
      {"overlaps weight (1 x 64 bytes", [](Problem&, Args& a) { a.dweight = moved(a.weight, 60); }},
      {"overlaps bias (1 x 16 bytes", [](Problem&, Args& a) { a.dbias = moved(a.bias, 0); }},
      {"dweight (1 x 128 bytes", [](Problem&, Args& a) { a.dbias = moved(a.dweight, 124); }},
      {"overlaps dbias (1 x 32 bytes", [](Problem&, Args& a) { a.dweight = moved(a.dbias, 28); }},
      {"dx (10 x 16 bytes", [](Problem&, Args& a) { a.dweight = moved(a.dx, 0); }},
      {"overlaps workspace (1 x 1000 bytes", [](Problem&, Args& a) { a.dx = moved(a.workspace, 998); }},
      {"workspace (1 x 1000 bytes", [](Problem&, Args& a) { a.x = moved(a.workspace, 500); }},
      {"overlaps cu_seqlens", [](Problem&, Args& a) { a.dbias = moved(a.cu_seqlens, 0); }},
      {"workspace_bytes is 999; this problem needs 1000", [](Problem&, Args& a) { a.workspace_bytes = 999; }},
      {"workspace_bytes is 0; this problem needs 1000",
       [](Problem&, Args& a) {
         a.workspace = nullptr;
         a.workspace_bytes = 0;
       }},
      {"workspace is NULL; it must point to 1000 bytes", [](Problem&, Args& a) { a.workspace = nullptr; }},
      {"; it must be aligned to 16 bytes", [](Problem&, Args& a) { a.workspace = moved(a.workspace, 8); }},
  };
  for (const auto& bad : table) check_refused(bad);
}

TEST_CASE("offsets that do not start at 0, decrease, or end elsewhere than at the tokens are refused") {
  struct Bad {
    std::string message;
    std::vector<std::int64_t> offsets;
  };
  const std::vector<Bad> table = {
      {"cu_seqlens[0] is 1; it must be 0", {1, 4, 4, 10}},
      {"cu_seqlens[0] is -1; it must be 0", {-1, 4, 4, 10}},
      {"cu_seqlens[2] is 3 after 4 before it; offsets must not decrease", {0, 4, 3, 10}},
      {"cu_seqlens[3] is 10 after 12 before it; offsets must not decrease", {0, 4, 12, 10}},
      {"cu_seqlens[1] is -4 after 0 before it; offsets must not decrease", {0, -4, 4, 10}},
      {"cu_seqlens[3], the last, is 9; it must equal tokens = 10", {0, 4, 4, 9}},
      {"cu_seqlens[3], the last, is 11; it must equal tokens = 10", {0, 4, 4, 11}},
  };
  for (const auto& [message, wide] : table) {
    CAPTURE(message);
    const std::vector<std::int32_t> narrow(wide.begin(), wide.end());
    for (const bool is_wide : {false, true}) {
      Problem problem = sample_problem();
      problem.cu_seqlens_dtype = is_wide ? CAKE_DTYPE_INT64 : CAKE_DTYPE_INT32;
      const void* offsets = is_wide ? static_cast<const void*>(wide.data()) : narrow.data();
      SampleBuffers buffers;
      ForwardArgs host = buffers.forward();
      host.cu_seqlens = offsets;
      CHECK_THAT(validated(problem, host).message, Catch::Contains(message));
      // On a device only the host's copy can be read; cu_seqlens itself is taken as it is.
      problem.device = CAKE_DEVICE_CUDA;
      BackwardArgs device = buffers.backward();
      device.cu_seqlens_host = offsets;
      CHECK_THAT(validated(problem, device).message, Catch::Contains(message));
    }
  }
}

TEST_CASE("on the host the offsets and their host copy are both checked") {
  SampleBuffers buffers;
  const Problem problem = sample_problem();
  ForwardArgs args = buffers.forward();
  static constexpr std::int32_t kWrong[4] = {0, 4, 4, 9};
  args.cu_seqlens_host = kWrong;
  CHECK_THAT(validated(problem, args).message, Catch::Contains("the last, is 9"));
}

TEST_CASE("a misaligned host copy of the offsets is refused by its own name") {
  SampleBuffers buffers;
  Problem problem = sample_problem();
  problem.device = CAKE_DEVICE_CUDA;
  ForwardArgs args = buffers.forward();
  args.cu_seqlens_host = moved(args.cu_seqlens, 1);
  CHECK_THAT(validated(problem, args).message, Catch::StartsWith("cu_seqlens_host is at 0x"));
}

TEMPLATE_TEST_CASE("arguments at the edge of what is legal are accepted", "", ForwardArgs, BackwardArgs) {
  check_accepted<TestType>("no bias", [](Problem& p, TestType& a) {
    p.bias_dtype = CAKE_DTYPE_NONE;
    a.bias = nullptr;
    if constexpr (requires { a.dbias; }) a.dbias = nullptr;
  });
  check_accepted<TestType>("no tokens and no documents: rows and offsets may be NULL", [](Problem& p, TestType& a) {
    p.tokens = p.documents = 0;
    a.x = a.cu_seqlens = nullptr;
    if constexpr (requires { a.y; }) a.y = nullptr;
    if constexpr (requires { a.dx; }) a.dy = a.dx = nullptr;
  });
  static constexpr std::int32_t kEmptyDocuments[4] = {0, 0, 0, 0};
  check_accepted<TestType>("no tokens, empty documents", [](Problem& p, TestType& a) {
    p.tokens = 0;
    a.x = nullptr;
    a.cu_seqlens = kEmptyDocuments;
  });
  static constexpr std::int32_t kRepeatedEnds[4] = {0, 0, 10, 10};
  check_accepted<TestType>("empty first and last documents",
                           [](Problem&, TestType& a) { a.cu_seqlens = kRepeatedEnds; });
  check_accepted<TestType>("slices of one wider tensor", [](Problem& p, TestType& a) {
    // x is large enough for two rows of three slices.
    p.tokens = 2;
    p.x_row_stride = p.y_row_stride = p.dy_row_stride = p.dx_row_stride = 24;
    static constexpr std::int32_t kTwo[4] = {0, 1, 1, 2};
    a.cu_seqlens = kTwo;
    if constexpr (requires { a.y; }) a.y = moved(a.x, 16);
    if constexpr (requires { a.dx; }) {
      a.dx = moved(a.x, 16);
      a.dy = moved(a.x, 32);
    }
  });
  check_accepted<TestType>("rows aligned to their element only", [](Problem&, TestType& a) { a.x = moved(a.x, 2); });
}
