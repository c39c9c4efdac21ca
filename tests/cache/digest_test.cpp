#include "cache/digest.hpp"

#include <catch2/catch.hpp>

#include "cakejit/error.hpp"

using namespace cakejit::cache;

TEST_CASE("XXH3-128 of nothing is the value its specification publishes") {
  CHECK(xxh3_128("").hex() == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("a digest's text is parsed back, and nothing else is") {
  const std::string text = xxh3_128("cake").hex();
  REQUIRE(Digest::parse(text).has_value());
  CHECK(Digest::parse(text)->hex() == text);
  for (const std::string bad : {"", "0", "99AA06D3014798D86001C324468D497F", "99aa06d3014798d86001c324468d497",
                                "99aa06d3014798d86001c324468d497f0", "99aa06d3014798d86001c324468d497g"}) {
    CAPTURE(bad);
    CHECK_FALSE(Digest::parse(bad).has_value());
  }
}

TEST_CASE("the order in which fields are added does not matter") {
  KeyRecord one;
  one.add("a", "1");
  one.add("b", "2");
  KeyRecord other;
  other.add("b", "2");
  other.add("a", "1");
  CHECK(one.digest() == other.digest());
}

TEST_CASE("bytes can't move from one field to the next without another digest") {
  KeyRecord one;
  one.add("a", "x\nb 1\ny");
  KeyRecord other;
  other.add("a", "x");
  other.add("b", "y");
  CHECK(one.canonical_text() != other.canonical_text());
  CHECK(one.digest() != other.digest());
}

TEST_CASE("the canonical text is the documented one") {
  KeyRecord record;
  record.add("target", "sm_90a");
  record.add("abi", "1");
  CHECK(record.canonical_text() == "cakejit-key 1\nabi 1\n1\ntarget 6\nsm_90a\n");
}

TEST_CASE("field names are checked and unique") {
  KeyRecord record;
  record.add("a", "1");
  CHECK_THROWS_AS(record.add("a", "2"), cakejit::Error);
  CHECK_THROWS_AS(record.add("", "2"), cakejit::Error);
  CHECK_THROWS_AS(record.add("A", "2"), cakejit::Error);
}
