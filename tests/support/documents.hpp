// Ways to cut a stream of tokens into documents. All return cu_seqlens: N+1 offsets from 0 to `tokens`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace cakejit::test {

using Offsets = std::vector<std::int64_t>;

Offsets documents_of_lengths(std::initializer_list<std::int64_t> lengths);
Offsets one_document(std::int64_t tokens);
Offsets single_token_documents(std::int64_t tokens);
Offsets random_documents(std::int64_t tokens, std::int64_t documents, std::uint64_t seed);  // some empty by chance
Offsets short_documents(std::int64_t tokens, std::int64_t longest, std::uint64_t seed);     // 1 to `longest` tokens

// The same documents with empty ones before, between and after.
Offsets with_empty_documents(const Offsets& offsets, std::uint64_t seed);
// The same documents and `count` empty ones at the end.
Offsets with_repeated_end(Offsets offsets, std::int64_t count);

enum class DocumentKind { kOne, kRandom, kShort, kSingleTokens, kWithEmpty, kRepeatedEnd };
inline constexpr int kDocumentKinds = 6;

Offsets make_documents(DocumentKind kind, std::int64_t tokens, std::uint64_t seed);

}  // namespace cakejit::test
