// The C boundary through the shared library: sized structs, NULLs, the last error, contexts and their options.
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/samples.hpp"

using namespace cakejit::runtime::testing;

namespace {

using Problem = cake_causal_conv1d_det_train_problem;

// A struct with room behind it for fields that a later version may add.
template <class Struct>
struct Extended {
  Struct known;
  std::array<std::byte, 32> tail{};

  explicit Extended(const Struct& value) : known(value) { known.struct_size = sizeof *this; }
};

cake_status workspace(const Problem& problem) {
  std::size_t bytes = 0;
  return cake_causal_conv1d_det_train_backward_workspace_bytes(&problem, &bytes);
}

std::string last_error() {
  return cake_last_error();
}

cake_status create_and_destroy(const cake_context_options& options) {
  cake_context* context = nullptr;
  const cake_status status = cake_context_create(&options, &context);
  CHECK((context != nullptr) == (status == CAKE_STATUS_OK));
  CHECK(cake_context_destroy(context) == CAKE_STATUS_OK);
  return status;
}

cake_context_options no_options() {
  cake_context_options options{};
  options.struct_size = sizeof options;
  return options;
}

}  // namespace

TEST_CASE("the version is the header's, and every status has its name") {
  CHECK(std::string(cake_version()) == CAKEJIT_VERSION_STRING);
  CHECK(std::string(cake_status_name(CAKE_STATUS_OK)) == "CAKE_STATUS_OK");
  CHECK(std::string(cake_status_name(CAKE_STATUS_INTERNAL)) == "CAKE_STATUS_INTERNAL");
  cake_status beyond{};
  set_code(beyond, 12);
  CHECK(std::string(cake_status_name(beyond)) == "unknown");
}

TEST_CASE("a struct_size that can't be right is refused with what it must be") {
  Problem problem = sample_problem();
  for (const std::size_t size : {std::size_t{0}, std::size_t{4}, std::size_t{7}, sizeof problem - 1, sizeof problem + 4,
                                 std::size_t{5000}, ~std::size_t{0}}) {
    problem.struct_size = size;
    CHECK(workspace(problem) == CAKE_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(last_error(), Catch::StartsWith("problem->struct_size is " + std::to_string(size) +
                                               "; set it to sizeof(the struct), " + std::to_string(sizeof problem)));
  }
}

TEST_CASE("fields beyond an older caller's struct read as zero") {
  Problem problem = sample_problem();
  problem.struct_size = offsetof(Problem, dx_row_stride);
  CHECK(workspace(problem) == CAKE_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Catch::StartsWith("dx_row_stride is 0 elements"));
  problem.struct_size = sizeof problem.struct_size;
  CHECK(workspace(problem) == CAKE_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Catch::StartsWith("channels is 0"));
}

TEST_CASE("a newer caller's struct is taken while its unknown fields are zero, and refused when one is not") {
  Extended<Problem> problem(sample_problem());
  CHECK(workspace(problem.known) == CAKE_STATUS_OK);
  problem.tail.back() = std::byte{1};
  CHECK(workspace(problem.known) == CAKE_STATUS_UNSUPPORTED);
  CHECK_THAT(last_error(), Catch::StartsWith("problem has fields set that this version (0.1.0) does not know"));

  SampleBuffers buffers;
  const Problem plain = sample_problem();
  Extended<cake_causal_conv1d_det_train_forward_args> forward(buffers.forward());
  CHECK(cake_causal_conv1d_det_train_forward(nullptr, &plain, &forward.known, nullptr) == CAKE_STATUS_OK);
  forward.tail.front() = std::byte{1};
  CHECK(cake_causal_conv1d_det_train_forward(nullptr, &plain, &forward.known, nullptr) == CAKE_STATUS_UNSUPPORTED);
  CHECK_THAT(last_error(), Catch::StartsWith("args has fields set"));
  Extended<cake_causal_conv1d_det_train_backward_args> backward(buffers.backward());
  backward.tail.front() = std::byte{1};
  CHECK(cake_causal_conv1d_det_train_backward(nullptr, &plain, &backward.known, nullptr) == CAKE_STATUS_UNSUPPORTED);

  Extended<cake_context_options> options(no_options());
  CHECK(create_and_destroy(options.known) == CAKE_STATUS_OK);
  options.tail.front() = std::byte{1};
  CHECK(create_and_destroy(options.known) == CAKE_STATUS_UNSUPPORTED);
}

TEST_CASE("NULL where a struct or a result is needed is refused by name") {
  const Problem problem = sample_problem();
  SampleBuffers buffers;
  const auto forward = buffers.forward();
  const auto backward = buffers.backward();
  std::size_t bytes = 0;
  const auto refused = [](cake_status status, const char* message) {
    CHECK(status == CAKE_STATUS_INVALID_ARGUMENT);
    CHECK(last_error() == message);
  };
  refused(cake_causal_conv1d_det_train_forward(nullptr, nullptr, &forward, nullptr), "problem is NULL");
  refused(cake_causal_conv1d_det_train_forward(nullptr, &problem, nullptr, nullptr), "args is NULL");
  refused(cake_causal_conv1d_det_train_backward(nullptr, nullptr, &backward, nullptr), "problem is NULL");
  refused(cake_causal_conv1d_det_train_backward(nullptr, &problem, nullptr, nullptr), "args is NULL");
  refused(cake_causal_conv1d_det_train_prepare(nullptr, nullptr, 3, 0), "problem is NULL");
  refused(cake_causal_conv1d_det_train_forward_workspace_bytes(nullptr, &bytes), "problem is NULL");
  refused(cake_causal_conv1d_det_train_forward_workspace_bytes(&problem, nullptr), "bytes is NULL");
  refused(cake_causal_conv1d_det_train_backward_workspace_bytes(nullptr, &bytes), "problem is NULL");
  refused(cake_causal_conv1d_det_train_backward_workspace_bytes(&problem, nullptr), "bytes is NULL");
  refused(cake_context_create(nullptr, nullptr), "context is NULL");
  refused(cake_context_get_statistics(nullptr, nullptr), "statistics is NULL");
  CHECK(cake_context_destroy(nullptr) == CAKE_STATUS_OK);
}

TEST_CASE("is_supported gives the reason, and none where there is none") {
  Problem problem = sample_problem();
  const char* reason = nullptr;
  CHECK(is_cake_causal_conv1d_det_train_supported(&problem, CAKE_PASS_FORWARD | CAKE_PASS_BACKWARD, &reason) == 1);
  REQUIRE(reason != nullptr);
  CHECK(std::string(reason).empty());
  problem.x_row_stride = 7;
  CHECK(is_cake_causal_conv1d_det_train_supported(&problem, CAKE_PASS_FORWARD, &reason) == 0);
  CHECK_THAT(reason, Catch::StartsWith("x_row_stride is 7 elements; it must be at least channels = 8"));
  CHECK(is_cake_causal_conv1d_det_train_supported(&problem, CAKE_PASS_FORWARD, nullptr) == 0);
  CHECK(is_cake_causal_conv1d_det_train_supported(nullptr, CAKE_PASS_FORWARD, &reason) == 0);
  CHECK(std::string(reason) == "problem is NULL");
}

TEST_CASE("the last error belongs to the thread, and a good call leaves it") {
  Problem problem = sample_problem();
  problem.channels = 0;
  CHECK(workspace(problem) == CAKE_STATUS_INVALID_ARGUMENT);
  const std::string mine = last_error();
  CHECK_THAT(mine, Catch::StartsWith("channels is 0"));
  std::string before;
  std::string after;
  std::thread([&] {
    before = last_error();
    Problem other = sample_problem();
    other.tokens = -5;
    (void)workspace(other);
    after = last_error();
  }).join();
  CHECK(before.empty());
  CHECK_THAT(after, Catch::StartsWith("tokens is -5"));
  CHECK(last_error() == mine);
  CHECK(workspace(sample_problem()) == CAKE_STATUS_OK);
  CHECK(last_error() == mine);
}

TEST_CASE("contexts are made and destroyed, any number of them") {
  std::vector<cake_context*> contexts(50);
  for (cake_context*& context : contexts) REQUIRE(cake_context_create(nullptr, &context) == CAKE_STATUS_OK);
  for (cake_context* context : contexts) CHECK(cake_context_destroy(context) == CAKE_STATUS_OK);
}

TEST_CASE("options out of their range are refused with the value and what is allowed, and leave no context") {
  struct Bad {
    std::string message;
    void (*spoil)(cake_context_options&);
  };
  const std::vector<Bad> table = {
      {"options->jit is \"maybe\"; allowed are: on, off", [](auto& o) { o.jit = "maybe"; }},
      {"options->jit is \"\"; allowed are: on, off", [](auto& o) { o.jit = ""; }},
      {"options->compiler_policy is \"none\"; allowed are: any, match", [](auto& o) { o.compiler_policy = "none"; }},
      {"options->log_level is \"loud\"; allowed are: off, error, warn, info, debug",
       [](auto& o) { o.log_level = "loud"; }},
      {"options->host_threads is -1; it must be from 0 to 4096", [](auto& o) { o.host_threads = -1; }},
      {"options->host_threads is 4097; it must be from 0 to 4096", [](auto& o) { o.host_threads = 4097; }},
      {"options->cache_max_size is \"big\"; it must be a number of bytes", [](auto& o) { o.cache_max_size = "big"; }},
      {"options->host_cache_entries is -2147483648; it must be from 0 to 1048576",
       [](auto& o) { o.host_cache_entries = -2147483647 - 1; }},
      {"options->host_cache_entries is 1048577; it must be from 0 to 1048576",
       [](auto& o) { o.host_cache_entries = 1048577; }},
      {"options->check_cu_seqlens is -1; it must be from 0 to 1", [](auto& o) { o.check_cu_seqlens = -1; }},
      {"options->struct_size is 0; set it to sizeof(the struct)", [](auto& o) { o.struct_size = 0; }},
  };
  for (const auto& [message, spoil] : table) {
    CAPTURE(message);
    cake_context_options options = no_options();
    spoil(options);
    CHECK(create_and_destroy(options) == CAKE_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(last_error(), Catch::StartsWith(message));
  }
}

TEST_CASE("options are copied, and creating a context touches none of the places that they name") {
  cake_context_options options = no_options();
  std::string nowhere = "/nonexistent/cakejit";
  options.cache_dir = options.aot_path = options.toolkit_path = nowhere.c_str();
  std::string off = "off";
  options.jit = options.log_level = off.c_str();
  options.compiler_policy = "match";
  options.host_threads = 3;
  options.host_cache_entries = 1;
  options.check_cu_seqlens = 1;
  cake_context* context = nullptr;
  REQUIRE(cake_context_create(&options, &context) == CAKE_STATUS_OK);
  nowhere.assign(nowhere.size(), '#');
  off.assign(off.size(), '#');
  SampleBuffers buffers;
  const Problem problem = sample_problem();
  const auto args = buffers.forward();
  CHECK(cake_causal_conv1d_det_train_forward(context, &problem, &args, nullptr) == CAKE_STATUS_OK);
  CHECK(cake_context_destroy(context) == CAKE_STATUS_OK);
}

TEST_CASE("statistics of a host context are zero, and a caller's smaller or larger struct is filled as far as known") {
  cake_context* context = nullptr;
  REQUIRE(cake_context_create(nullptr, &context) == CAKE_STATUS_OK);
  SampleBuffers buffers;
  const Problem problem = sample_problem();
  const auto args = buffers.backward();
  CHECK(cake_causal_conv1d_det_train_backward(context, &problem, &args, nullptr) == CAKE_STATUS_OK);

  Extended<cake_context_statistics> larger(cake_context_statistics{});
  std::memset(&larger.known.plan_hits, 0xff, sizeof larger.known - offsetof(cake_context_statistics, plan_hits));
  CHECK(cake_context_get_statistics(context, &larger.known) == CAKE_STATUS_OK);
  CHECK(larger.known.struct_size == sizeof larger);
  CHECK(larger.known.plan_hits + larger.known.plan_misses + larger.known.plan_entries == 0);
  CHECK(larger.known.libraries_loaded + larger.known.disk_hits + larger.known.libraries_built == 0);

  cake_context_statistics older{};
  older.struct_size = offsetof(cake_context_statistics, plan_entries);
  older.plan_misses = older.plan_entries = 77;
  CHECK(cake_context_get_statistics(context, &older) == CAKE_STATUS_OK);
  CHECK(older.plan_misses == 0);
  CHECK(older.plan_entries == 77);
  CHECK(cake_context_destroy(context) == CAKE_STATUS_OK);
}
