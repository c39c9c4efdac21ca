// Reads the fields of a JSON object that a user names: every value is checked, every error says file, field, value and
// what is allowed. The text may be hostile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace cakejit::tools {

// The file's text. Throws Error(INVALID_ARGUMENT): it can't be read, or is larger than `max_bytes`.
std::string read_text_file(const std::filesystem::path& path, std::uintmax_t max_bytes = 16u << 20);

// Throws Error(INVALID_ARGUMENT) that names the file and the place of the first mistake.
nlohmann::json parse_json(const std::string& text, const std::string& file);

// The value as JSON text, cut to a line's length.
std::string preview(const nlohmann::json& value);

class JsonFields {
 public:
  // `where` is put before field names ("linear_attn_config."). `object` must outlive this. Throws when it is no object.
  JsonFields(const nlohmann::json& object, std::string file, std::string where = "");

  [[nodiscard]] bool has(const std::string& name) const;  // present and not null
  [[nodiscard]] const nlohmann::json& at(const std::string& name, const std::string& expected) const;
  [[nodiscard]] JsonFields object(const std::string& name) const;

  // A whole number from 1 to `largest`.
  [[nodiscard]] std::int64_t count(const std::string& name, std::int64_t largest = kLargest) const;
  [[nodiscard]] std::int64_t count_or(const std::string& name, std::int64_t otherwise) const;
  [[nodiscard]] bool boolean_or(const std::string& name, bool otherwise) const;
  [[nodiscard]] std::string text(const std::string& name) const;
  [[nodiscard]] std::string text_or(const std::string& name, const std::string& otherwise) const;

  // Throws Error(INVALID_ARGUMENT) about a field: "<file>: <field> is <value>; <allowed>".
  [[noreturn]] void refuse(const std::string& name, const std::string& allowed) const;

  [[nodiscard]] const std::string& file() const { return file_; }

  // Of one dimension: products of a few still fit 64 bits.
  static constexpr std::int64_t kLargest = 1 << 20;

 private:
  const nlohmann::json* object_;
  std::string file_;
  std::string where_;
};

}  // namespace cakejit::tools
