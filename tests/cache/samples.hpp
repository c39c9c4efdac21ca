// A folder of the test's own, and entries to put into caches.
#pragma once

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>

#include "cache/store.hpp"

namespace cakejit::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    // In memory where there is such a place: the tests sync thousands of files.
    const bool shm = ::access("/dev/shm", W_OK) == 0;
    const auto parent = shm ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "cakejit-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A logger whose lines a test can count and read.
struct RecordedLog {
  std::ostringstream text;
  std::shared_ptr<spdlog::logger> logger =
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text));

  [[nodiscard]] int lines() const {
    const std::string all = text.str();
    return static_cast<int>(std::count(all.begin(), all.end(), '\n'));
  }
};

// An entry as a build would make it; `seed` makes different ones.
inline cache::Entry sample_entry(int seed = 0) {
  cache::Entry entry;
  entry.code =
      "\x7f"
      "ELF code " +
      std::to_string(seed) + std::string(3000, 'c');
  entry.source = "// source " + std::to_string(seed) + "\n";
  const std::string digest = cache::xxh3_128("key " + std::to_string(seed)).hex();
  cache::Manifest& m = entry.manifest;
  m.name = "cake_causal_conv1d_det_train_" + digest;
  m.digest = digest;
  m.target = "sm_90a";
  m.abi_version = 1;
  m.code_bytes = entry.code.size();
  m.code_checksum = cache::xxh3_128(entry.code).hex();
  m.source_bytes = entry.source.size();
  m.source_checksum = cache::xxh3_128(entry.source).hex();
  m.specialization = {{"channels", "4096"}, {"pass", "forward"}, {"dtype", "bf16"}, {"bias", "no"}, {"tile", "128x4"}};
  m.compile_options = {"-std=c++20"};
  m.link_options = {"-O3"};
  m.compiler = "NVRTC 13.0";
  m.linker = "nvJitLink 13.0";
  m.compile_ms = 30.5;
  m.link_ms = 200;
  m.created_unix_s = 1700000000;
  m.entries = {{m.name + "_forward", 64, 16384, 0, 0, 0}};
  return entry;
}

inline cache::Request request_for(const cache::Entry& entry) {
  const cache::Manifest& m = entry.manifest;
  return {m.name, m.digest, m.target, m.abi_version};
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace cakejit::test
