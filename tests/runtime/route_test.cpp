#include "runtime/route.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "tests/runtime/samples.hpp"

using namespace cakejit;
using namespace cakejit::runtime;
using cakejit::runtime::testing::caught;

namespace {

constexpr std::size_t kAlignments[] = {2, 4, 8, 16};

constexpr std::int64_t kStripChannels[] = {1, 2, 3, 4, 8, 127, 128, 1160, 2048, 4096, 8192, 70000, 4177992, 2147483647};
constexpr std::int64_t kStripTokenCounts[] = {0,    1,     3,      31,     32,      33,         4095,
                                              4096, 16384, 250340, 262144, 5000000, 2147483647, std::int64_t{1} << 40};
// From the smallest board to more than any GPU has, and nonsense.
constexpr int kMultiprocessors[] = {-1, 0, 1, 2, 14, 20, 84, 108, 132, 148, 152, 188, 255, 256, 257, 1000, 2147483647};

int element_bytes(cake_dtype dtype) {
  return dtype == CAKE_DTYPE_FP32 ? 4 : 2;
}

int packet_bytes(const Specialization& s) {
  return s.vector_channels * element_bytes(s.dtype);
}

// Every channel count up to a few tiles, and large ones around the limits.
std::vector<std::int64_t> channel_counts() {
  std::vector<std::int64_t> counts;
  for (std::int64_t c = 1; c <= 300; ++c) counts.push_back(c);
  for (const std::int64_t base :
       {std::int64_t{1160}, std::int64_t{4096}, std::int64_t{70000}, std::int64_t{4177992}, std::int64_t{2147483640}}) {
    for (std::int64_t c = base - 7; c <= base + 7; ++c) counts.push_back(c);
  }
  return counts;
}

// Calls `visit(query)` for every query that a validated call can make.
template <class Visit>
void for_every_query(const Visit& visit) {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (const cake_dtype dtype : {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16, CAKE_DTYPE_FP32}) {
      for (const std::size_t alignment : kAlignments) {
        if (alignment < static_cast<std::size_t>(element_bytes(dtype))) continue;
        for (const std::int64_t channels : channel_counts()) {
          visit(RouteQuery{.pass = pass, .channels = channels, .dtype = dtype, .row_alignment = alignment});
        }
      }
    }
  }
}

bool is_power_of_two(int value) {
  return value > 0 && (value & (value - 1)) == 0;
}

}  // namespace

TEST_CASE("every channel count, alignment, dtype and pass has a route whose packet divides its rows and addresses") {
  const jit::Target& target = jit::find_target("sm_90a");
  std::size_t visited = 0;
  for_every_query([&](const RouteQuery& query) {
    const Specialization s = route(query, target);
    const bool sound = s.pass == query.pass && s.channels == query.channels && s.dtype == query.dtype &&
                       is_power_of_two(packet_bytes(s)) && packet_bytes(s) >= 2 && packet_bytes(s) <= 16 &&
                       query.channels % s.vector_channels == 0 &&
                       query.row_alignment % static_cast<std::size_t>(packet_bytes(s)) == 0;
    if (!sound) {
      CAPTURE(query.channels, query.row_alignment, query.dtype, s.vector_channels);
      CHECK(sound);
    }
    ++visited;
  });
  CHECK(visited > 7000);
}

TEST_CASE("each route's tile keeps the kernels' rules") {
  const jit::Target& target = jit::find_target("sm_90a");
  for_every_query([&](const RouteQuery& query) {
    const Specialization s = route(query, target);
    const int rings = s.pass == Pass::kForward ? 1 : 2;
    const int shared_bytes = rings * s.ring_groups * s.group_rows * s.block_threads * packet_bytes(s);
    const bool sound = s.group_rows == 4 && s.block_threads % 32 == 0 && s.block_threads <= 1024 &&
                       s.ring_groups >= 3 && shared_bytes <= 48 * 1024;
    if (!sound) {
      CAPTURE(query.channels, query.row_alignment, query.dtype, shared_bytes);
      CHECK(sound);
    }
  });
}

TEST_CASE("strips are whole groups of rows and the same for the same question, on every size of GPU") {
  const jit::Target& target = jit::find_target("sm_90a");
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (const std::int64_t channels : kStripChannels) {
      const Specialization s = route({.pass = pass, .channels = channels, .row_alignment = 8}, target);
      for (const std::int64_t tokens : kStripTokenCounts) {
        for (const int multiprocessors : kMultiprocessors) {
          const int strip = strip_tokens(s, tokens, multiprocessors);
          const bool sound = strip > 0 && strip % s.group_rows == 0 && strip <= 1 << 28 &&
                             strip == strip_tokens(s, tokens, multiprocessors);
          CAPTURE(channels, tokens, multiprocessors, strip);
          if (!sound) CHECK(sound);
        }
      }
    }
  }
}

// The workspace is sized without knowing the GPU or the alignment: a larger number of strips would write past its end.
TEST_CASE("no route on any GPU cuts a backward into more strips than the workspace is sized for") {
  const jit::Target& target = jit::find_target("sm_90a");
  std::mt19937_64 random(20260101);
  std::vector<std::int64_t> tokens(std::begin(kStripTokenCounts), std::end(kStripTokenCounts));
  for (int i = 0; i < 300; ++i) tokens.push_back(static_cast<std::int64_t>(random() % (std::uint64_t{1} << (i % 31))));
  std::vector<std::int64_t> channels(std::begin(kStripChannels), std::end(kStripChannels));
  for (int i = 0; i < 60; ++i)
    channels.push_back(1 + static_cast<std::int64_t>(random() % (std::uint64_t{1} << i % 20)));
  for (const cake_dtype dtype : {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16, CAKE_DTYPE_FP32}) {
    for (const std::int64_t c : channels) {
      for (const std::size_t alignment : kAlignments) {
        if (alignment < static_cast<std::size_t>(element_bytes(dtype))) continue;
        const Specialization s =
            route({.pass = Pass::kBackward, .channels = c, .dtype = dtype, .row_alignment = alignment}, target);
        for (const std::int64_t t : tokens) {
          const std::int64_t most = max_backward_strips(t, c, dtype);
          for (const int multiprocessors : kMultiprocessors) {
            const std::int64_t strip = strip_tokens(s, t, multiprocessors);
            const std::int64_t strips = t / strip + (t % strip != 0 ? 1 : 0);
            if (strips <= most) continue;
            CAPTURE(dtype, c, alignment, t, multiprocessors, strip);
            CHECK(strips <= most);
          }
        }
      }
    }
  }
}

TEST_CASE("better alignment never gives a narrower packet") {
  const jit::Target& target = jit::find_target("sm_90a");
  for_every_query([&](const RouteQuery& query) {
    if (query.row_alignment == 16) return;
    RouteQuery better = query;
    better.row_alignment *= 2;
    const int narrow = packet_bytes(route(query, target));
    const int wide = packet_bytes(route(better, target));
    if (wide < narrow) {
      CAPTURE(query.channels, query.row_alignment, query.dtype);
      CHECK(wide >= narrow);
    }
  });
}

TEST_CASE("channels that are a multiple of 8 in aligned rows take the widest packet of their pass") {
  const jit::Target& target = jit::find_target("sm_90a");
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (const cake_dtype dtype : {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16, CAKE_DTYPE_FP32}) {
      for (const std::int64_t channels : {8, 1160, 4096, 70000}) {
        CHECK(packet_bytes(route({.pass = pass, .channels = channels, .dtype = dtype}, target)) == 8);
      }
    }
  }
}

TEST_CASE("the same question has the same answer, for every target that a table serves") {
  for (const jit::Target& target : jit::all_targets()) {
    for (const std::int64_t channels : {1, 2, 4, 4096}) {
      const RouteQuery query{.channels = channels, .has_bias = true, .activation = CAKE_ACTIVATION_IDENTITY};
      const Specialization first = route(query, target);
      CHECK(first == route(query, target));
      CHECK(first.has_bias);
      CHECK(first.activation == CAKE_ACTIVATION_IDENTITY);
    }
  }
}

TEST_CASE("a question that no validated call can make is an internal error with what was asked") {
  const auto error = caught([] { (void)route({.channels = 3, .row_alignment = 1}, jit::find_target("sm_90a")); });
  CHECK(error.status == CAKE_STATUS_INTERNAL);
  CHECK(error.message == "no route for 3 channels, rows aligned to 1 bytes, 2-byte elements");
}
