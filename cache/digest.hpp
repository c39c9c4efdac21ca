// The identity of a kernel library: XXH3-128 over a canonical, readable key record. Format: docs/digest.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cakejit::cache {

class Digest {
 public:
  explicit Digest(const std::array<std::uint8_t, 16>& bytes) : bytes_(bytes) {}

  // 32 lower-case hex digits, most significant byte first (XXH128_canonical_t's order).
  [[nodiscard]] std::string hex() const;
  // nullopt unless `text` is exactly 32 lower-case hex digits.
  static std::optional<Digest> parse(std::string_view text);
  // The last 8 bytes as a number.
  [[nodiscard]] std::uint64_t low64() const;

  friend bool operator==(const Digest&, const Digest&) = default;
  friend auto operator<=>(const Digest&, const Digest&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_;
};

// XXH3-128 (seed 0) of any bytes; also the checksum of an entry's files.
Digest xxh3_128(std::string_view bytes);

// What makes a library what it is, as named fields. The order in which fields are added does not matter.
class KeyRecord {
 public:
  // Field names are [a-z0-9_]+ and unique; values are any bytes. Throws Error(INTERNAL) otherwise.
  void add(std::string_view field, std::string_view value);

  // The canonical text: a version line, then each field in name order as "<name> <byte count>\n<value>\n".
  [[nodiscard]] std::string canonical_text() const;
  [[nodiscard]] Digest digest() const;
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& fields() const { return fields_; }

  static constexpr std::string_view kVersionLine = "cakejit-key 1\n";

 private:
  std::map<std::string, std::string, std::less<>> fields_;
};

}  // namespace cakejit::cache
