#include "runtime/base/config.hpp"

#include <catch2/catch.hpp>

#include <map>

#include "cakejit/error.hpp"

using namespace cakejit;

namespace {

EnvironmentLookup environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace

TEST_CASE("an empty environment gives the defaults and no writable cache") {
  const Config config = Config::from_environment(environment({}));
  CHECK_FALSE(config.cache_dir.has_value());
  CHECK(config.aot_path.empty());
  CHECK(config.jit == JitMode::kOn);
  CHECK(config.compiler_policy == CompilerPolicy::kAny);
  CHECK(config.host_cache_entries == 1024);
  CHECK(config.cache_max_bytes == 1073741824);
  CHECK(config.cache_max_entries == 20000);
}

TEST_CASE("sizes are bytes, or K, M, G, T of them in powers of 1024") {
  const std::map<std::string, std::uint64_t> good = {{"0", 0},           {"1", 1},          {"64K", 65536},
                                                     {"500M", 524288000}, {"2G", 2147483648}, {"1T", 1099511627776}};
  for (const auto& [text, bytes] : good) CHECK(parse_byte_size("size", text) == bytes);
  for (const std::string text : {"", "G", "-1", "2g", "2GB", "1.5G", " 1", "1 ", "99999999999999999999", "9999999T", "K2"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse_byte_size("--max-size", text),
                      Catch::StartsWith("--max-size is \"" + text + "\"; it must be a number of bytes"));
  }
  const Config config = Config::from_environment(
      environment({{"CAKEJIT_CACHE_MAX_SIZE", "3M"}, {"CAKEJIT_CACHE_MAX_ENTRIES", "7"}}));
  CHECK(config.cache_max_bytes == 3145728);
  CHECK(config.cache_max_entries == 7);
}

TEST_CASE("the cache directory follows CAKEJIT_CACHE_DIR, then XDG_CACHE_HOME, then HOME") {
  CHECK(Config::from_environment(environment({{"HOME", "/h"}})).cache_dir == "/h/.cache/cakejit");
  CHECK(Config::from_environment(environment({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}})).cache_dir == "/x/cakejit");
  CHECK(Config::from_environment(environment({{"HOME", "/h"}, {"XDG_CACHE_HOME", "rel"}})).cache_dir ==
        "/h/.cache/cakejit");
  CHECK(Config::from_environment(environment({{"XDG_CACHE_HOME", "/x"}, {"CAKEJIT_CACHE_DIR", "/c"}})).cache_dir == "/c");
}

TEST_CASE("path lists are split at colons and empty parts are dropped") {
  const auto paths = parse_path_list(":/a::/b:");
  REQUIRE(paths.size() == 2);
  CHECK(paths[0] == "/a");
  CHECK(paths[1] == "/b");
}

TEST_CASE("a bad value is refused with the variable, the value and what is allowed") {
  const std::map<std::string, std::string> bad = {{"CAKEJIT_JIT", "maybe"},
                                                  {"CAKEJIT_COMPILER_POLICY", "exact"},
                                                  {"CAKEJIT_LOG", "loud"},
                                                  {"CAKEJIT_HOST_THREADS", "-1"},
                                                  {"CAKEJIT_CHECK_CU_SEQLENS", "2"},
                                                  {"CAKEJIT_HOST_CACHE_ENTRIES", "0"},
                                                  {"CAKEJIT_CACHE_MAX_SIZE", "much"},
                                                  {"CAKEJIT_CACHE_MAX_ENTRIES", "-3"}};
  for (const auto& [name, value] : bad) {
    CAPTURE(name, value);
    try {
      (void)Config::from_environment(environment({{name, value}}));
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.status() == CAKE_STATUS_INVALID_ARGUMENT);
      CHECK_THAT(error.what(), Catch::Contains(name) && Catch::Contains("\"" + value + "\""));
    }
  }
}
