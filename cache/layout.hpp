// Names of files and folders in a cache directory; docs/cache-format.md draws the tree. No effects.
#pragma once

#include <string>
#include <string_view>

#include "cache/entry.hpp"
#include "cache/file_system.hpp"

namespace cakejit::cache {

inline constexpr const char* kVersionFolder = "v1";
inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kSourceFile = "source.cu";
// One byte a use: its length is the number of uses, its time the last one.
inline constexpr const char* kUsesFile = "uses";

inline constexpr std::size_t kMaxManifestBytes = 1 << 20;
inline constexpr std::size_t kMaxCodeBytes = std::size_t{1} << 28;
inline constexpr std::size_t kMaxSourceBytes = std::size_t{16} << 20;

inline const char* code_file(CodeKind kind) {
  return kind == CodeKind::kCubin ? "code.cubin" : "code.ltoir";
}

// The 32 digits in a library name.
inline std::string_view digest_in(std::string_view name) {
  return name.substr(name.find("train_") + 6, 32);
}

// The first two digits: entries are spread over 256 folders.
inline std::string shard_of(std::string_view name) {
  return std::string(digest_in(name).substr(0, 2));
}

// Permissions of what is created: for the user alone, or readable by all (an AOT layer to be shipped).
enum class Sharing { kPrivate, kReadable };

struct Layout {
  Path root;
  Sharing sharing = Sharing::kPrivate;

  [[nodiscard]] Path version() const { return root / kVersionFolder; }
  [[nodiscard]] Path entry(const std::string& name) const { return version() / shard_of(name) / name; }
  [[nodiscard]] Path temporaries() const { return version() / "tmp"; }
  [[nodiscard]] Path quarantine() const { return version() / "quarantine"; }
  [[nodiscard]] Path locks() const { return version() / "lock"; }
  [[nodiscard]] Path heartbeats() const { return version() / "heartbeats"; }
  [[nodiscard]] Path counters() const { return version() / "counters"; }
  [[nodiscard]] mode_t directory_mode() const { return sharing == Sharing::kPrivate ? 0700 : 0755; }
  [[nodiscard]] mode_t file_mode() const { return sharing == Sharing::kPrivate ? 0600 : 0644; }
};

}  // namespace cakejit::cache
