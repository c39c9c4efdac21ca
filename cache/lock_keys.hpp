// Who locks which byte of v1/lock. Keys of libraries and temporaries are hashes of their names: should two ever meet, one
// waits for the other, and nothing else happens.
#pragma once

#include <cstdint>
#include <string_view>

#include "cache/digest.hpp"

namespace cakejit::cache {

inline constexpr std::uint64_t kCountersKey = 0;
inline constexpr std::uint64_t kEvictionKey = 1;
inline constexpr std::uint64_t kFirstHashedKey = 16;

inline std::uint64_t hashed_key(std::string_view text) {
  return xxh3_128(text).low64() | kFirstHashedKey;
}
inline std::uint64_t library_key(std::string_view name) {
  return hashed_key(name);
}
inline std::uint64_t temporary_key(std::string_view name) {
  return hashed_key(name);
}

}  // namespace cakejit::cache
