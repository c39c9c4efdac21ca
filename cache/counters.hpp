// Counters that are kept over processes, in one small file. Exact where the file system has locks; a lost update elsewhere costs
// a count, never an entry.
#pragma once

#include <spdlog/logger.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "cache/layout.hpp"

namespace cakejit::cache {

struct Counters {
  std::int64_t hits = 0;       // entries taken from this directory
  std::int64_t misses = 0;     // entries asked for that were not there, or not usable
  std::int64_t builds = 0;     // entries published
  std::int64_t evictions = 0;  // entries removed because of the caps
  std::int64_t damaged = 0;    // entries set aside
  std::int64_t entries = 0;    // entries here; corrected at each scan
  std::int64_t bytes = 0;      // of their files; corrected at each scan

  friend bool operator==(const Counters&, const Counters&) = default;
};

// Name and member of each counter, in the file's order.
struct CounterField {
  std::string_view name;
  std::int64_t Counters::*member;
};
inline constexpr std::array<CounterField, 7> kCounterFields = {{{"hits", &Counters::hits},
                                                                {"misses", &Counters::misses},
                                                                {"builds", &Counters::builds},
                                                                {"evictions", &Counters::evictions},
                                                                {"damaged", &Counters::damaged},
                                                                {"entries", &Counters::entries},
                                                                {"bytes", &Counters::bytes}}};

class CounterFile {
 public:
  CounterFile(std::shared_ptr<FileSystem> files, const Layout& layout, std::shared_ptr<spdlog::logger> log);

  // Zeroes where there is no file, or one that makes no sense. Never throws but std::bad_alloc.
  [[nodiscard]] Counters read() const;

  // Adds to what is there and returns the new values. A folder that can't be written is no error. Never throws but
  // std::bad_alloc.
  Counters add(const Counters& difference) const;

  // Replaces what is there. Throws Error(CACHE).
  void write(const Counters& counters) const;

 private:
  [[nodiscard]] std::unique_ptr<HeldLock> lock() const;

  std::shared_ptr<FileSystem> files_;
  Layout layout_;
  std::shared_ptr<spdlog::logger> log_;
};

}  // namespace cakejit::cache
