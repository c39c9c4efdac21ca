#include "runtime/host_cache.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "tests/runtime/samples.hpp"

using namespace cakejit::runtime;
using namespace cakejit::runtime::testing;

namespace {

PlanKey numbered(std::int64_t tokens) {
  Problem problem = sample_problem();
  problem.tokens = tokens;
  return {Pass::kForward, problem, CallSite{}};
}

LaunchPlan plan(unsigned blocks) {
  LaunchPlan made;
  made.blocks = blocks;
  return made;
}

struct Question {
  Pass pass = Pass::kBackward;
  Problem problem = sample_problem();
  CallSite site{.cuda_context_id = 7, .row_alignment = 8};

  [[nodiscard]] PlanKey key() const { return {pass, problem, site}; }
};

}  // namespace

TEST_CASE("a plan is found under its key and under no other") {
  HostCache cache(4);
  CHECK(cache.find(numbered(1)) == nullptr);
  const auto committed = cache.commit(numbered(1), plan(11));
  CHECK(committed->blocks == 11);
  CHECK(cache.find(numbered(1)) == committed);
  CHECK(cache.find(numbered(2)) == nullptr);
  CHECK(cache.size() == 1);
}

TEST_CASE("the first commit wins, and every later one is given it") {
  HostCache cache(4);
  const auto first = cache.commit(numbered(1), plan(1));
  const auto second = cache.commit(numbered(1), plan(2));
  CHECK(second == first);
  CHECK(cache.find(numbered(1))->blocks == 1);
  CHECK(cache.size() == 1);
}

TEST_CASE("keys differ in whatever decides the plan") {
  const std::vector<std::function<void(Question&)>> changes = {
      [](Question&) {},
      [](Question& q) { q.pass = Pass::kForward; },
      [](Question& q) { q.site.cuda_context_id = 8; },
      [](Question& q) { q.site.row_alignment = 16; },
      [](Question& q) { q.problem.tokens = 11; },
      [](Question& q) { q.problem.channels = 4; },
      [](Question& q) { q.problem.dtype = CAKE_DTYPE_FP16; },
      [](Question& q) { q.problem.bias_dtype = CAKE_DTYPE_NONE; },
      [](Question& q) { q.problem.activation = CAKE_ACTIVATION_IDENTITY; },
  };
  HostCache cache(100);
  std::set<std::size_t> hashes;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    Question question;
    changes[i](question);
    CHECK(cache.find(question.key()) == nullptr);
    CHECK(cache.commit(question.key(), plan(static_cast<unsigned>(i)))->blocks == i);
    hashes.insert(question.key().hash());
  }
  CHECK(cache.size() == changes.size());
  CHECK(hashes.size() == changes.size());
}

TEST_CASE("fields that kernels take at launch, or that the pass ignores, don't make another key") {
  const std::vector<std::function<void(Problem&)>> changes = {
      [](Problem& p) { p.struct_size = 8; },
      [](Problem& p) { p.documents = 4; },
      [](Problem& p) { p.weight_dtype = CAKE_DTYPE_FP32; },
      [](Problem& p) { p.bias_dtype = CAKE_DTYPE_FP32; },
      [](Problem& p) { p.cu_seqlens_dtype = CAKE_DTYPE_INT64; },
      [](Problem& p) { set_code(p.weight_grad_dtype, 77); },
      [](Problem& p) { set_code(p.bias_grad_dtype, -5); },
      [](Problem& p) { p.x_row_stride = p.y_row_stride = p.dy_row_stride = p.dx_row_stride = 99; },
  };
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      CAPTURE(i);
      Question question{.pass = pass};
      const PlanKey before = question.key();
      changes[i](question.problem);
      CHECK(question.key() == before);
      CHECK(question.key().hash() == before.hash());
    }
  }
}

TEST_CASE("a cache never holds more than its capacity, and the newest plan is always in it") {
  for (const std::size_t capacity : {0, 1, 2, 7, 8, 9, 64}) {
    HostCache cache(capacity);
    for (std::int64_t i = 0; i < 300; ++i) {
      (void)cache.commit(numbered(i), plan(static_cast<unsigned>(i)));
      CHECK(cache.size() <= std::max<std::size_t>(capacity, 1));
      REQUIRE(cache.find(numbered(i)) != nullptr);
    }
    // At most an eighth goes at once.
    CHECK(cache.size() + capacity / 8 + 1 >= capacity);
  }
}

TEST_CASE("plans in use stay; those unused for longest make room; a plan that was evicted lives on with its holder") {
  HostCache cache(8);
  std::shared_ptr<const LaunchPlan> held;
  for (std::int64_t i = 0; i < 8; ++i) {
    const auto committed = cache.commit(numbered(i), plan(static_cast<unsigned>(i)));
    if (i == 1) held = committed;
  }
  CHECK(cache.find(numbered(0)) != nullptr);
  (void)cache.commit(numbered(8), plan(8));
  CHECK(cache.find(numbered(1)) == nullptr);
  for (const std::int64_t kept : {0, 2, 3, 4, 5, 6, 7, 8}) CHECK(cache.find(numbered(kept)) != nullptr);
  (void)cache.commit(numbered(9), plan(9));
  CHECK(cache.find(numbered(0)) == nullptr);
  CHECK(held->blocks == 1);
}

TEST_CASE("a commit of a key that is there evicts nothing") {
  HostCache cache(2);
  (void)cache.commit(numbered(1), plan(1));
  (void)cache.commit(numbered(2), plan(2));
  (void)cache.commit(numbered(2), plan(3));
  CHECK(cache.find(numbered(1)) != nullptr);
  CHECK(cache.size() == 2);
}

TEST_CASE("threads that find and commit at once always see the right plan for their key") {
  HostCache cache(16);
  std::vector<int> wrong(8, 0);
  std::vector<std::thread> threads;
  for (std::size_t id = 0; id < wrong.size(); ++id) {
    threads.emplace_back([&cache, &mistakes = wrong[id], id] {
      for (std::int64_t i = 0; i < 3000; ++i) {
        const std::int64_t number = (i * 7 + static_cast<std::int64_t>(id)) % 40;
        const PlanKey key = numbered(number);
        auto found = cache.find(key);
        if (!found) found = cache.commit(key, plan(static_cast<unsigned>(number)));
        if (found->blocks != static_cast<unsigned>(number)) ++mistakes;
        if (cache.size() > 16) ++mistakes;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(8, 0));
}
