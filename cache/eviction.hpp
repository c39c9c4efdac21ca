// What a cache directory holds and when it was last used, and the removal of what was used least recently.
#pragma once

#include <string>
#include <vector>

#include "cache/store.hpp"

namespace cakejit::cache {

struct Usage {
  std::string name;
  std::uint64_t bytes = 0;            // of all its files
  std::uint64_t uses = 0;             // times it was loaded from here
  std::int64_t last_used_unix_ns = 0;  // its publication, if it was never loaded
};

// One entry's; zeroes where it is not there. Throws Error(CACHE).
Usage entry_usage(const FileSystem& files, const Layout& layout, const std::string& name);

// Of all entries, the least recently used first. Looks at file sizes and times only. Throws Error(CACHE).
std::vector<Usage> usage(const FileSystem& files, const Layout& layout);

// Sums, as counters have them.
struct Totals {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
};
Totals totals(const std::vector<Usage>& usages);

struct Evicted {
  std::vector<std::string> names;
  Totals before;
  Totals after;
};

// Removes the least recently used entries until the store is a tenth below `caps`, so that the next publishes need no scan; an entry
// larger than the cap goes too. One process at a time; whoever comes second leaves it to the first. An entry that a process may be
// loading disappears from the cache at once, its files a minute later. Corrects the counters. Throws Error(CACHE).
Evicted evict(const Store& store, const Caps& caps);

}  // namespace cakejit::cache
