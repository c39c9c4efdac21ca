#include "tools/json_fields.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "cakejit/error.hpp"

namespace cakejit::tools {

std::string read_text_file(const std::filesystem::path& path, std::uintmax_t max_bytes) {
  const auto refuse = [&](const std::string& why) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT, fmt::format("cannot read {}: {}", path.string(), why));
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) refuse(error.message());
  if (!std::filesystem::is_regular_file(status)) refuse("not a regular file");
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) refuse(error.message());
  if (bytes > max_bytes) refuse(fmt::format("it has {} bytes; at most {} are read", bytes, max_bytes));
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

nlohmann::json parse_json(const std::string& text, const std::string& file) {
  // Whoever prints or destroys a value recurses into it, so that depth is bounded here.
  constexpr int kDeepest = 64;
  const auto check_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth <= kDeepest) return true;
    throw Error(CAKE_STATUS_INVALID_ARGUMENT,
                fmt::format("{}: lists and objects lie more than {} deep in one another", file, kDeepest));
  };
  try {
    return nlohmann::json::parse(text, check_depth);
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT, fmt::format("{}: not valid JSON: {}", file, error.what()));
  }
}

std::string preview(const nlohmann::json& value) {
  constexpr std::size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

JsonFields::JsonFields(const nlohmann::json& object, std::string file, std::string where)
    : object_(&object), file_(std::move(file)), where_(std::move(where)) {
  if (!object.is_object()) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT,
                fmt::format("{}: {} is {}; it must be a JSON object", file_,
                            where_.empty() ? "the whole" : where_.substr(0, where_.size() - 1), preview(object)));
  }
}

bool JsonFields::has(const std::string& name) const {
  const auto found = object_->find(name);
  return found != object_->end() && !found->is_null();
}

const nlohmann::json& JsonFields::at(const std::string& name, const std::string& expected) const {
  const auto found = object_->find(name);
  if (found == object_->end()) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT,
                fmt::format("{}: the field {}{} is missing; it must be {}", file_, where_, name, expected));
  }
  return *found;
}

JsonFields JsonFields::object(const std::string& name) const {
  return {at(name, "a JSON object"), file_, fmt::format("{}{}.", where_, name)};
}

std::int64_t JsonFields::count(const std::string& name, std::int64_t largest) const {
  const std::string allowed = fmt::format("a whole number from 1 to {}", largest);
  const nlohmann::json& value = at(name, allowed);
  // Unsigned numbers are compared as such: 2^64 - 1 must not turn into -1.
  const bool in_range =
      value.is_number_unsigned()
          ? value.get<std::uint64_t>() >= 1 && value.get<std::uint64_t>() <= static_cast<std::uint64_t>(largest)
          : false;
  if (!in_range) refuse(name, "it must be " + allowed);
  return value.get<std::int64_t>();
}

std::int64_t JsonFields::count_or(const std::string& name, std::int64_t otherwise) const {
  return has(name) ? count(name) : otherwise;
}

bool JsonFields::boolean_or(const std::string& name, bool otherwise) const {
  if (!has(name)) return otherwise;
  const nlohmann::json& value = object_->at(name);
  if (!value.is_boolean()) refuse(name, "it must be true or false");
  return value.get<bool>();
}

std::string JsonFields::text(const std::string& name) const {
  const nlohmann::json& value = at(name, "a text");
  if (!value.is_string()) refuse(name, "it must be a text");
  return value.get<std::string>();
}

std::string JsonFields::text_or(const std::string& name, const std::string& otherwise) const {
  return has(name) ? text(name) : otherwise;
}

void JsonFields::refuse(const std::string& name, const std::string& allowed) const {
  throw Error(CAKE_STATUS_INVALID_ARGUMENT,
              fmt::format("{}: {}{} is {}; {}", file_, where_, name, preview(object_->at(name)), allowed));
}

}  // namespace cakejit::tools
