#include "jit/target.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "cakejit/error.hpp"

using namespace cakejit;
using namespace cakejit::jit;

TEST_CASE("every target is found by its name and by the device it is built for") {
  for (const Target& target : all_targets()) {
    CAPTURE(target.name);
    CHECK(&find_target(target.name) == &target);
    const auto found = target_for_device(target.compute_major, target.compute_minor);
    REQUIRE(found);
    CHECK(found->name == target.name);
  }
}

TEST_CASE("a target's sm name, compute name and compute capability agree") {
  for (const Target& target : all_targets()) {
    CAPTURE(target.name);
    const bool exact = target.name.ends_with('a');
    CHECK(target.name == fmt::format("sm_{}{}", target.arch(), exact ? "a" : ""));
    CHECK(target.compute == fmt::format("compute_{}{}", target.arch(), exact ? "a" : ""));
  }
}

TEST_CASE("an unknown target is refused with its name and the known names") {
  for (const char* name : {"", "sm_90", "sm_107", "SM_90A", "sm_90a ", "compute_90a", "sm_75"}) {
    CAPTURE(name);
    try {
      (void)find_target(name);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.status() == CAKE_STATUS_UNSUPPORTED);
      CHECK_THAT(error.what(), Catch::Contains(fmt::format("\"{}\"", name)) &&
                                   Catch::Contains("sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_103a, sm_107a, sm_120"));
    }
  }
}

TEST_CASE("a device without a target of its own has none: code for a neighbour is not served") {
  const std::pair<int, int> devices[] = {{7, 5}, {8, 7}, {8, 8}, {9, 1}, {10, 1}, {11, 0}, {12, 1}, {0, 0}, {-1, 0}};
  for (const auto& [major, minor] : devices) {
    CAPTURE(major, minor);
    CHECK_FALSE(target_for_device(major, minor));
  }
}
