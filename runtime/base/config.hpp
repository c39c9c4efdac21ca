// Every setting of the library, read once. Nothing else in the code reads the environment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cakejit {

enum class JitMode { kOn, kOff };
enum class CompilerPolicy { kAny, kMatch };
enum class LogLevel { kOff, kError, kWarn, kInfo, kDebug };

// Looks one environment variable up; nullopt when it is unset. Empty values count as unset.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

struct Config {
  // Writable cache layer; nullopt when no home is known: then compiled code stays in memory.
  std::optional<std::filesystem::path> cache_dir;
  // How large cache_dir may grow; 0: without limit. The least recently used entries go first.
  std::uint64_t cache_max_bytes = std::uint64_t{1} << 30;
  std::uint64_t cache_max_entries = 20'000;
  // Read-only cache layers, searched in this order, before cache_dir.
  std::vector<std::filesystem::path> aot_path;
  // Where to look for NVRTC and nvJitLink first; nullopt: the places in docs/configuration.md.
  std::optional<std::filesystem::path> toolkit_path;
  // Further places to look for a toolkit, in order: CUDA_HOME, CUDA_PATH, pip folders of VIRTUAL_ENV.
  std::vector<std::filesystem::path> toolkit_hints;
  JitMode jit = JitMode::kOn;
  CompilerPolicy compiler_policy = CompilerPolicy::kAny;
  LogLevel log_level = LogLevel::kWarn;
  int host_threads = 0;  // 0: the CPUs this process may run on
  bool check_cu_seqlens = false;
  int host_cache_entries = 1024;

  // Throws Error(INVALID_ARGUMENT) that names the variable, its value and what is allowed.
  static Config from_environment(const EnvironmentLookup& lookup);
  static Config from_environment();  // the process' environment
};

// Parsers of the textual settings, shared with the C ABI's options struct. `name` is what the message calls the
// setting.
JitMode parse_jit_mode(const std::string& name, const std::string& value);
CompilerPolicy parse_compiler_policy(const std::string& name, const std::string& value);
LogLevel parse_log_level(const std::string& name, const std::string& value);
std::vector<std::filesystem::path> parse_path_list(const std::string& value);
// "2G", "500M", "64K" or a number of bytes; powers of 1024.
std::uint64_t parse_byte_size(const std::string& name, const std::string& value);

}  // namespace cakejit
