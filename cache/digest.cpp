#include "cache/digest.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "cakejit/error.hpp"

namespace cakejit::cache {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

bool is_field_name(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

std::string Digest::hex() const {
  std::string text;
  text.reserve(2 * bytes_.size());
  for (const std::uint8_t byte : bytes_) {
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

std::uint64_t Digest::low64() const {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i < bytes_.size(); ++i) value = value << 8 | bytes_[i];
  return value;
}

std::optional<Digest> Digest::parse(std::string_view text) {
  std::array<std::uint8_t, 16> bytes{};
  if (text.size() != 2 * bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kHexDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    bytes[i / 2] = static_cast<std::uint8_t>(bytes[i / 2] << 4 | digit);
  }
  return Digest(bytes);
}

Digest xxh3_128(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::array<std::uint8_t, 16> digest{};
  static_assert(sizeof canonical.digest == digest.size());
  std::memcpy(digest.data(), canonical.digest, digest.size());
  return Digest(digest);
}

void KeyRecord::add(std::string_view field, std::string_view value) {
  if (!is_field_name(field)) {
    throw Error(CAKE_STATUS_INTERNAL, fmt::format("key field \"{}\" must be made of a-z, 0-9 and _", field));
  }
  if (!fields_.emplace(field, value).second) {
    throw Error(CAKE_STATUS_INTERNAL, fmt::format("key field \"{}\" was added twice", field));
  }
}

std::string KeyRecord::canonical_text() const {
  std::string text(kVersionLine);
  for (const auto& [field, value] : fields_) text += fmt::format("{} {}\n{}\n", field, value.size(), value);
  return text;
}

Digest KeyRecord::digest() const {
  return xxh3_128(canonical_text());
}

}  // namespace cakejit::cache
