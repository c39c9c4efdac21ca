#include "runtime/base/config.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "cakejit/error.hpp"

namespace cakejit {
namespace {

template <class T>
struct Choice {
  const char* text;
  T value;
};

template <class T, size_t N>
T parse_choice(const std::string& name, const std::string& value, const Choice<T> (&choices)[N]) {
  std::string allowed;
  for (const auto& choice : choices) {
    if (value == choice.text) return choice.value;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", choice.text);
  }
  throw Error(CAKE_STATUS_INVALID_ARGUMENT,
              fmt::format("{} is \"{}\"; allowed are: {}. Set one of these or unset it.", name, value, allowed));
}

int parse_int(const std::string& name, const std::string& value, int low, int high) {
  int number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc{} || stop != end || number < low || number > high) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT,
                fmt::format("{} is \"{}\"; it must be a whole number from {} to {}.", name, value, low, high));
  }
  return number;
}

bool parse_switch(const std::string& name, const std::string& value) {
  static constexpr Choice<bool> kChoices[] = {{"on", true}, {"off", false}, {"1", true}, {"0", false}};
  return parse_choice(name, value, kChoices);
}

// A relative XDG_CACHE_HOME is ignored, as the XDG base directory specification demands.
std::optional<std::filesystem::path> default_cache_dir(const EnvironmentLookup& lookup) {
  if (const auto xdg = lookup("XDG_CACHE_HOME"); xdg && std::filesystem::path(*xdg).is_absolute()) {
    return std::filesystem::path(*xdg) / "cakejit";
  }
  if (const auto home = lookup("HOME"); home && std::filesystem::path(*home).is_absolute()) {
    return std::filesystem::path(*home) / ".cache" / "cakejit";
  }
  return std::nullopt;
}

}  // namespace

JitMode parse_jit_mode(const std::string& name, const std::string& value) {
  static constexpr Choice<JitMode> kChoices[] = {{"on", JitMode::kOn}, {"off", JitMode::kOff}};
  return parse_choice(name, value, kChoices);
}

CompilerPolicy parse_compiler_policy(const std::string& name, const std::string& value) {
  static constexpr Choice<CompilerPolicy> kChoices[] = {{"any", CompilerPolicy::kAny},
                                                        {"match", CompilerPolicy::kMatch}};
  return parse_choice(name, value, kChoices);
}

LogLevel parse_log_level(const std::string& name, const std::string& value) {
  static constexpr Choice<LogLevel> kChoices[] = {{"off", LogLevel::kOff},
                                                  {"error", LogLevel::kError},
                                                  {"warn", LogLevel::kWarn},
                                                  {"info", LogLevel::kInfo},
                                                  {"debug", LogLevel::kDebug}};
  return parse_choice(name, value, kChoices);
}

std::uint64_t parse_byte_size(const std::string& name, const std::string& value) {
  constexpr std::string_view kUnits = "KMGT";
  std::uint64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  const auto left = static_cast<std::size_t>(end - stop);
  const std::size_t unit = left == 1 ? kUnits.find(*stop) : std::string_view::npos;
  const std::size_t shift = unit == std::string_view::npos ? 0 : 10 * (unit + 1);
  if (error != std::errc{} || (left != 0 && shift == 0) || number > (std::uint64_t{1} << 62) >> shift) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT,
                fmt::format("{} is \"{}\"; it must be a number of bytes, or one with K, M, G or T behind it: 2G, 500M",
                            name, value));
  }
  return number << shift;
}

std::vector<std::filesystem::path> parse_path_list(const std::string& value) {
  std::vector<std::filesystem::path> paths;
  size_t begin = 0;
  while (begin <= value.size()) {
    const size_t end = std::min(value.find(':', begin), value.size());
    if (end > begin) paths.emplace_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return paths;
}

Config Config::from_environment(const EnvironmentLookup& lookup) {
  Config config;
  config.cache_dir = default_cache_dir(lookup);
  if (const auto v = lookup("CAKEJIT_CACHE_DIR")) config.cache_dir = *v;
  if (const auto v = lookup("CAKEJIT_CACHE_MAX_SIZE")) {
    config.cache_max_bytes = parse_byte_size("CAKEJIT_CACHE_MAX_SIZE", *v);
  }
  if (const auto v = lookup("CAKEJIT_CACHE_MAX_ENTRIES")) {
    config.cache_max_entries = static_cast<std::uint64_t>(parse_int("CAKEJIT_CACHE_MAX_ENTRIES", *v, 0, 1 << 30));
  }
  if (const auto v = lookup("CAKEJIT_AOT_PATH")) config.aot_path = parse_path_list(*v);
  if (const auto v = lookup("CAKEJIT_TOOLKIT_PATH")) config.toolkit_path = *v;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"}) {
    if (const auto v = lookup(name)) config.toolkit_hints.emplace_back(*v);
  }
  if (const auto v = lookup("CAKEJIT_JIT")) config.jit = parse_jit_mode("CAKEJIT_JIT", *v);
  if (const auto v = lookup("CAKEJIT_COMPILER_POLICY")) {
    config.compiler_policy = parse_compiler_policy("CAKEJIT_COMPILER_POLICY", *v);
  }
  if (const auto v = lookup("CAKEJIT_LOG")) config.log_level = parse_log_level("CAKEJIT_LOG", *v);
  if (const auto v = lookup("CAKEJIT_HOST_THREADS")) {
    config.host_threads = parse_int("CAKEJIT_HOST_THREADS", *v, 0, 4096);
  }
  if (const auto v = lookup("CAKEJIT_CHECK_CU_SEQLENS")) {
    config.check_cu_seqlens = parse_switch("CAKEJIT_CHECK_CU_SEQLENS", *v);
  }
  if (const auto v = lookup("CAKEJIT_HOST_CACHE_ENTRIES")) {
    config.host_cache_entries = parse_int("CAKEJIT_HOST_CACHE_ENTRIES", *v, 1, 1 << 20);
  }
  return config;
}

Config Config::from_environment() {
  return from_environment([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  });
}

}  // namespace cakejit
