#include "runtime/host/documents.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

#include "tests/support/documents.hpp"

using namespace cakejit;

namespace {

// By the definition: the tokens before `token` in the document that holds it, 3 at most.
std::uint8_t expected_history(const test::Offsets& offsets, std::int64_t token) {
  for (std::size_t document = 0; document + 1 < offsets.size(); ++document) {
    if (offsets[document] <= token && token < offsets[document + 1]) {
      return static_cast<std::uint8_t>(std::min<std::int64_t>(3, token - offsets[document]));
    }
  }
  return 0;
}

void check_history(const test::Offsets& offsets, std::int64_t first_token, std::size_t count) {
  const std::vector<std::int32_t> narrow(offsets.begin(), offsets.end());
  const auto documents = static_cast<std::int64_t>(offsets.size()) - 1;
  for (const cake_dtype dtype : {CAKE_DTYPE_INT32, CAKE_DTYPE_INT64}) {
    const void* const data = dtype == CAKE_DTYPE_INT32 ? static_cast<const void*>(narrow.data()) : offsets.data();
    std::vector<std::uint8_t> history(count, 99);
    host::fill_history(host::DocumentOffsets(data, dtype, documents), offsets.back(), first_token, history);
    std::vector<std::uint8_t> expected(count);
    for (std::size_t i = 0; i < count; ++i) {
      expected[i] = expected_history(offsets, first_token + static_cast<std::int64_t>(i));
    }
    CAPTURE(first_token, documents);
    CHECK(history == expected);
  }
}

}  // namespace

TEST_CASE("a token's history ends at its document's start, whatever empty documents lie there") {
  for (const test::Offsets& offsets :
       {test::Offsets{0, 9}, {0, 0, 9}, {0, 4, 4, 4, 9}, {0, 9, 9, 9}, {0, 1, 2, 3, 9}, {0, 0, 0, 1, 1, 9, 9}}) {
    for (std::int64_t first = 0; first < 9; ++first) check_history(offsets, first, 12);
  }
}

TEST_CASE("a strip in the middle of many documents finds its own by search") {
  const std::uint64_t seed = 11;
  const test::Offsets offsets = test::with_empty_documents(test::short_documents(2000, 7, seed), seed);
  CAPTURE(seed);
  for (const std::int64_t first : {0, 512, 1024, 1536, 1999}) check_history(offsets, first, 515);
}

TEST_CASE("past the last token there is no history") {
  check_history({0, 5}, 4, 6);
  check_history({0}, 0, 3);
}
