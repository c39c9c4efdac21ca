#include "cache/temporary.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <random>

#include "cache/digest.hpp"
#include "cache/lock_keys.hpp"
#include "cakejit/error.hpp"

namespace cakejit::cache {
namespace {

constexpr std::string_view kEvicted = "evicted.";
// Where nothing tells whether the owner lives: a build takes seconds.
constexpr std::int64_t kStaleAfterSeconds = 3600;

// No other process or thread makes the same one: process, time and chance.
std::string unique_suffix() {
  static thread_local std::mt19937_64 generator{std::random_device{}()};
  return fmt::format("{}.{:016x}", ::getpid(), generator());
}

// Whether an evicted entry may still be in the hands of a process that loads it.
bool is_lingering(const std::string& name, std::int64_t now) {
  if (!name.starts_with(kEvicted)) return false;
  std::int64_t since = 0;
  const char* begin = name.data() + kEvicted.size();
  if (std::from_chars(begin, name.data() + name.size(), since).ec != std::errc{}) return false;
  return now >= since && now - since < kLoadSeconds;
}

}  // namespace

std::int64_t now_unix_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string evicted_purpose(std::int64_t now) {
  return fmt::format("{}{}", kEvicted, now);
}

Temporary::Temporary(FileSystem& files, const Layout& layout, std::string_view purpose) : files_(files) {
  files.make_directories(layout.temporaries(), layout.directory_mode());
  const std::string name = fmt::format("{}.{}", purpose, unique_suffix());
  path_ = layout.temporaries() / name;
  try {
    lock_ = files.try_lock(layout.locks(), temporary_key(name), layout.file_mode());
  } catch (const LocksUnsupported&) {
    // Then its age decides when it is swept.
  }
}

Temporary::~Temporary() {
  if (keep_) return;
  try {
    files_.remove_tree(path_);
  } catch (const Error&) {
    // Swept later.
  }
}

void sweep_temporaries(FileSystem& files, const Layout& layout, std::int64_t now) {
  for (const std::string& name : files.list(layout.temporaries())) {
    if (is_lingering(name, now)) continue;
    const Path path = layout.temporaries() / name;
    try {
      const auto owned = files.try_lock(layout.locks(), temporary_key(name), layout.file_mode());
      if (owned) files.remove_tree(path);
    } catch (const LocksUnsupported&) {
      const auto status = files.status(path);
      if (status && now - status->modified_unix_s > kStaleAfterSeconds) files.remove_tree(path);
    }
  }
}

}  // namespace cakejit::cache
