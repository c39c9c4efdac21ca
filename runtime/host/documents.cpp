#include "runtime/host/documents.hpp"

#include <algorithm>

#include "runtime/host/tiling.hpp"

namespace cakejit::host {

std::int64_t DocumentOffsets::document_of(std::int64_t token) const {
  std::int64_t low = 0;
  std::int64_t high = documents_;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    ((*this)[middle] <= token ? low : high) = middle;
  }
  return low;
}

void fill_history(const DocumentOffsets& offsets, std::int64_t tokens, std::int64_t first_token,
                  std::span<std::uint8_t> history) {
  std::fill(history.begin(), history.end(), std::uint8_t{0});
  const std::int64_t end = std::min(tokens, first_token + static_cast<std::int64_t>(history.size()));
  if (first_token >= end) return;
  std::int64_t document = offsets.document_of(first_token);
  // No offset before token 0 is believed: whatever cu_seqlens holds, no row outside the tensor is read.
  std::int64_t document_begin = std::max<std::int64_t>(0, offsets[document]);
  for (std::int64_t token = first_token; token < end; ++token) {
    while (document + 1 < offsets.documents() && offsets[document + 1] <= token) {
      document_begin = std::max(document_begin, offsets[++document]);
    }
    history[static_cast<std::size_t>(token - first_token)] =
        static_cast<std::uint8_t>(std::clamp<std::int64_t>(token - document_begin, 0, kHalo));
  }
}

}  // namespace cakejit::host
