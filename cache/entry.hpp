// One kernel library as the cache keeps it. The cache knows names, bytes and checksums; not what a kernel does.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cache/digest.hpp"

namespace cakejit::cache {

enum class CodeKind { kCubin, kLtoIr };

// What the compiler reported of one entry symbol.
struct EntryFacts {
  std::string symbol;
  int registers = 0;
  int shared_bytes = 0;
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;

  friend bool operator==(const EntryFacts&, const EntryFacts&) = default;
};

// manifest.json, field by field; see docs/cache-format.md.
struct Manifest {
  std::string name;    // cake_causal_conv1d_det_train_<digest>[_kcp]
  std::string digest;  // 32 hex digits
  std::string target;  // "sm_90a"
  int abi_version = 0;
  CodeKind code_kind = CodeKind::kCubin;
  std::uint64_t code_bytes = 0;
  std::string code_checksum;  // XXH3-128, 32 hex digits
  std::uint64_t source_bytes = 0;
  std::string source_checksum;
  std::map<std::string, std::string> specialization;  // for people: "channels" -> "4096", "pass" -> "forward", ...
  std::vector<std::string> compile_options;
  std::vector<std::string> link_options;
  std::string compiler;  // "NVRTC 13.0"
  std::string linker;    // "nvJitLink 13.0"
  double compile_ms = 0;
  double link_ms = 0;
  std::int64_t created_unix_s = 0;
  std::vector<EntryFacts> entries;
  std::string derived_from;  // the portable library that this one was linked from; "" for one compiled for its target

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// manifest.json's text. parse throws Error(CACHE) that names the field, what it was and what it must be; it treats its
// input as hostile (sizes bounded, types checked, names checked).
std::string to_json(const Manifest& manifest);
Manifest parse_manifest(std::string_view json);

// The text as it lies on disk: the same JSON with a checksum of everything before it as its last field. unseal throws
// Error(CACHE) if one byte of it has changed, and returns the text, which parse_manifest takes.
std::string seal_manifest(std::string json);
std::string_view unseal_manifest(std::string_view text);

struct Entry {
  Manifest manifest;
  std::string code;    // code_bytes bytes
  std::string source;  // the specialised source, for people; may be empty when read back
};

// True for cake_causal_conv1d_det_train_<32 hex>[_kcp]: the only names that ever become a path.
bool is_library_name(std::string_view name);

}  // namespace cakejit::cache
