#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cache/entry.hpp"
#include "cakejit/error.hpp"

namespace cakejit::cache {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::size_t kMaxManifestBytes = 1 << 20;
constexpr int kMaxDepth = 4;
constexpr std::size_t kMaxItems = 256;
constexpr std::size_t kMaxText = 4096;
constexpr std::uint64_t kMaxCodeBytes = std::uint64_t{1} << 28;
constexpr std::string_view kNamePrefix = "cake_causal_conv1d_det_train_";
constexpr std::string_view kKcpSuffix = "_kcp";

[[noreturn]] void reject(std::string_view field, const Json& value, std::string_view must) {
  std::string shown = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (shown.size() > 80) shown = shown.substr(0, 77) + "...";
  throw Error(CAKE_STATUS_CACHE, fmt::format("manifest field \"{}\" is {}; it must be {}", field, shown, must));
}

const Json& member(const Json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end()) throw Error(CAKE_STATUS_CACHE, fmt::format("manifest field \"{}\" is missing", field));
  return *found;
}

std::string text(const Json& object, const char* field) {
  const Json& value = member(object, field);
  if (!value.is_string() || value.get_ref<const std::string&>().size() > kMaxText) {
    reject(field, value, fmt::format("a string of at most {} bytes", kMaxText));
  }
  return value.get<std::string>();
}

std::uint64_t whole(const Json& object, const char* field, std::uint64_t most) {
  const Json& value = member(object, field);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
    reject(field, value, fmt::format("a whole number from 0 to {}", most));
  }
  return value.get<std::uint64_t>();
}

int small_whole(const Json& object, const char* field) {
  return static_cast<int>(whole(object, field, std::numeric_limits<int>::max()));
}

double milliseconds(const Json& object, const char* field) {
  const Json& value = member(object, field);
  if (!value.is_number() || !(value.get<double>() >= 0) || !std::isfinite(value.get<double>())) {
    reject(field, value, "a number of milliseconds, 0 or more");
  }
  return value.get<double>();
}

std::string hex_digest(const Json& object, const char* field) {
  const std::string value = text(object, field);
  if (!Digest::parse(value)) reject(field, value, "32 lower-case hex digits");
  return value;
}

std::vector<std::string> texts(const Json& object, const char* field) {
  const Json& value = member(object, field);
  if (!value.is_array() || value.size() > kMaxItems) reject(field, value, "an array of strings");
  std::vector<std::string> items;
  for (const Json& item : value) {
    if (!item.is_string() || item.get_ref<const std::string&>().size() > kMaxText) {
      reject(field, value, "an array of strings");
    }
    items.push_back(item.get<std::string>());
  }
  return items;
}

std::map<std::string, std::string> text_map(const Json& object, const char* field) {
  const Json& value = member(object, field);
  if (!value.is_object() || value.size() > kMaxItems) reject(field, value, "an object of strings");
  std::map<std::string, std::string> map;
  for (const auto& [key, item] : value.items()) {
    if (!item.is_string()) reject(field, value, "an object of strings");
    map.emplace(key, item.get<std::string>());
  }
  return map;
}

std::vector<EntryFacts> entries(const Json& object) {
  const Json& value = member(object, "entries");
  if (!value.is_array() || value.size() > kMaxItems) reject("entries", value, "an array of objects");
  std::vector<EntryFacts> facts;
  for (const Json& item : value) {
    if (!item.is_object()) reject("entries", item, "an object");
    facts.push_back({.symbol = text(item, "symbol"),
                     .registers = small_whole(item, "registers"),
                     .shared_bytes = small_whole(item, "shared_bytes"),
                     .stack_bytes = small_whole(item, "stack_bytes"),
                     .spill_store_bytes = small_whole(item, "spill_store_bytes"),
                     .spill_load_bytes = small_whole(item, "spill_load_bytes")});
  }
  return facts;
}

CodeKind code_kind(const Json& object) {
  const std::string kind = text(object, "code_kind");
  if (kind == "cubin") return CodeKind::kCubin;
  if (kind == "ltoir") return CodeKind::kLtoIr;
  reject("code_kind", kind, "\"cubin\" or \"ltoir\"");
}

Json parse_bounded(std::string_view json) {
  if (json.size() > kMaxManifestBytes) {
    throw Error(CAKE_STATUS_CACHE,
                fmt::format("the manifest has {} bytes; at most {} are allowed", json.size(), kMaxManifestBytes));
  }
  const auto bounded = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) throw Error(CAKE_STATUS_CACHE, "the manifest is nested too deeply");
    return true;
  };
  try {
    return Json::parse(json, bounded);
  } catch (const Json::exception& error) {
    throw Error(CAKE_STATUS_CACHE, fmt::format("the manifest is no JSON: {}", error.what()));
  }
}

}  // namespace

bool is_library_name(std::string_view name) {
  if (!name.starts_with(kNamePrefix)) return false;
  name.remove_prefix(kNamePrefix.size());
  if (name.ends_with(kKcpSuffix)) name.remove_suffix(kKcpSuffix.size());
  return Digest::parse(name).has_value();
}

std::string to_json(const Manifest& m) {
  Json entry_list = Json::array();
  for (const EntryFacts& e : m.entries) {
    entry_list.push_back({{"symbol", e.symbol},
                          {"registers", e.registers},
                          {"shared_bytes", e.shared_bytes},
                          {"stack_bytes", e.stack_bytes},
                          {"spill_store_bytes", e.spill_store_bytes},
                          {"spill_load_bytes", e.spill_load_bytes}});
  }
  Json json = {{"format", kFormat},
                     {"name", m.name},
                     {"digest", m.digest},
                     {"target", m.target},
                     {"abi_version", m.abi_version},
                     {"code_kind", m.code_kind == CodeKind::kCubin ? "cubin" : "ltoir"},
                     {"code_bytes", m.code_bytes},
                     {"code_checksum", m.code_checksum},
                     {"source_bytes", m.source_bytes},
                     {"source_checksum", m.source_checksum},
                     {"specialization", m.specialization},
                     {"compile_options", m.compile_options},
                     {"link_options", m.link_options},
                     {"compiler", m.compiler},
                     {"linker", m.linker},
                     {"compile_ms", m.compile_ms},
                     {"link_ms", m.link_ms},
                     {"created_unix_s", m.created_unix_s},
                     {"entries", std::move(entry_list)}};
  if (!m.derived_from.empty()) json["derived_from"] = m.derived_from;
  return json.dump(2) + "\n";
}

namespace {

constexpr std::string_view kJsonEnd = "\n}\n";

// What seal_manifest puts in the place of kJsonEnd.
std::string seal_of(std::string_view body) {
  return fmt::format(",\n  \"checksum\": \"{}\"{}", xxh3_128(body).hex(), kJsonEnd);
}

}  // namespace

std::string seal_manifest(std::string json) {
  if (!json.ends_with(kJsonEnd)) throw Error(CAKE_STATUS_INTERNAL, "a manifest's text does not end as one");
  json.resize(json.size() - kJsonEnd.size());
  return json + seal_of(json);
}

std::string_view unseal_manifest(std::string_view text) {
  static const std::size_t kSealBytes = seal_of("").size();
  const std::string_view body = text.substr(0, text.size() - std::min(text.size(), kSealBytes));
  if (body.empty() || text.substr(body.size()) != seal_of(body)) {
    throw Error(CAKE_STATUS_CACHE, "manifest.json does not have the checksum that it ends with");
  }
  return text;
}

Manifest parse_manifest(std::string_view text_of_json) {
  const Json json = parse_bounded(text_of_json);
  if (!json.is_object()) throw Error(CAKE_STATUS_CACHE, "the manifest is no JSON object");
  if (const auto format = whole(json, "format", std::numeric_limits<int>::max()); format != kFormat) {
    reject("format", format, fmt::format("{} (the format of this version)", kFormat));
  }
  Manifest m;
  m.name = text(json, "name");
  if (!is_library_name(m.name)) reject("name", m.name, "cake_causal_conv1d_det_train_<32 hex digits>[_kcp]");
  m.digest = hex_digest(json, "digest");
  m.target = text(json, "target");
  m.abi_version = small_whole(json, "abi_version");
  m.code_kind = code_kind(json);
  m.code_bytes = whole(json, "code_bytes", kMaxCodeBytes);
  m.code_checksum = hex_digest(json, "code_checksum");
  m.source_bytes = whole(json, "source_bytes", kMaxCodeBytes);
  m.source_checksum = hex_digest(json, "source_checksum");
  m.specialization = text_map(json, "specialization");
  m.compile_options = texts(json, "compile_options");
  m.link_options = texts(json, "link_options");
  m.compiler = text(json, "compiler");
  m.linker = text(json, "linker");
  m.compile_ms = milliseconds(json, "compile_ms");
  m.link_ms = milliseconds(json, "link_ms");
  m.created_unix_s =
      static_cast<std::int64_t>(whole(json, "created_unix_s", std::uint64_t{std::numeric_limits<std::int64_t>::max()}));
  m.entries = entries(json);
  if (json.contains("derived_from")) {
    m.derived_from = text(json, "derived_from");
    if (!is_library_name(m.derived_from)) reject("derived_from", m.derived_from, "the name of a library");
  }
  return m;
}

}  // namespace cakejit::cache
