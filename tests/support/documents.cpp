#include "tests/support/documents.hpp"

#include <algorithm>

#include "tests/support/random_data.hpp"

namespace cakejit::test {

Offsets documents_of_lengths(std::initializer_list<std::int64_t> lengths) {
  Offsets offsets = {0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

Offsets one_document(std::int64_t tokens) {
  return {0, tokens};
}

Offsets single_token_documents(std::int64_t tokens) {
  Offsets offsets;
  for (std::int64_t token = 0; token <= tokens; ++token) offsets.push_back(token);
  return offsets;
}

Offsets random_documents(std::int64_t tokens, std::int64_t documents, std::uint64_t seed) {
  Random random(seed);
  Offsets offsets = {0, tokens};
  for (std::int64_t cut = 1; cut < documents; ++cut) offsets.push_back(random.integer(0, tokens));
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

Offsets short_documents(std::int64_t tokens, std::int64_t longest, std::uint64_t seed) {
  Random random(seed);
  Offsets offsets = {0};
  while (offsets.back() < tokens) offsets.push_back(std::min(tokens, offsets.back() + random.integer(1, longest)));
  return offsets;
}

Offsets with_empty_documents(const Offsets& offsets, std::uint64_t seed) {
  Random random(seed);
  Offsets result = {0};  // the first document is empty
  for (const std::int64_t offset : offsets) {
    for (std::int64_t copy = random.integer(0, 2); copy >= 0; --copy) result.push_back(offset);
  }
  return result;
}

Offsets with_repeated_end(Offsets offsets, std::int64_t count) {
  offsets.insert(offsets.end(), static_cast<std::size_t>(count), offsets.back());
  return offsets;
}

Offsets make_documents(DocumentKind kind, std::int64_t tokens, std::uint64_t seed) {
  switch (kind) {
    case DocumentKind::kOne: return one_document(tokens);
    case DocumentKind::kRandom: return random_documents(tokens, 1 + tokens / 50, seed);
    case DocumentKind::kShort: return short_documents(tokens, 9, seed);
    case DocumentKind::kSingleTokens: return single_token_documents(tokens);
    case DocumentKind::kWithEmpty: return with_empty_documents(random_documents(tokens, 1 + tokens / 50, seed), seed);
    case DocumentKind::kRepeatedEnd: return with_repeated_end(short_documents(tokens, 200, seed), 5);
  }
  return {};
}

}  // namespace cakejit::test
