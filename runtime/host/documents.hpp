// Where documents begin, told to the kernels as one small number per token.
#pragma once

#include <cstdint>
#include <span>

#include "cakejit/cakejit.h"

namespace cakejit::host {

// cu_seqlens[N+1] of either integer type; N may be 0. Not owned.
class DocumentOffsets {
 public:
  DocumentOffsets(const void* offsets, cake_dtype dtype, std::int64_t documents)
      : offsets_(offsets), dtype_(dtype), documents_(documents) {}

  [[nodiscard]] std::int64_t documents() const { return documents_; }
  [[nodiscard]] std::int64_t operator[](std::int64_t index) const {
    return dtype_ == CAKE_DTYPE_INT32 ? static_cast<const std::int32_t*>(offsets_)[index]
                                      : static_cast<const std::int64_t*>(offsets_)[index];
  }

  // The last document that begins at or before `token`: the one that holds it. Logarithmic.
  [[nodiscard]] std::int64_t document_of(std::int64_t token) const;

 private:
  const void* offsets_;
  cake_dtype dtype_;
  std::int64_t documents_;
};

// history[i] = min(3, number of tokens of its document before token first_token + i); 0 from `tokens` on. Tap j back
// from token t exists exactly if history(t) >= j, and tap j ahead of t exactly if history(t+j) >= j.
void fill_history(const DocumentOffsets& offsets, std::int64_t tokens, std::int64_t first_token,
                  std::span<std::uint8_t> history);

}  // namespace cakejit::host
