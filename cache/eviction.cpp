#include "cache/eviction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/lock_keys.hpp"
#include "cache/temporary.hpp"
#include "cakejit/error.hpp"

namespace cakejit::cache {
namespace {

std::uint64_t target_of(std::uint64_t cap) {
  return cap - cap / 10;
}

bool is_above(const Totals& totals, const Caps& caps) {
  return (caps.bytes != 0 && totals.bytes > caps.bytes) || (caps.entries != 0 && totals.entries > caps.entries);
}

// A recent use may still be going on: the folder moves away with what its reader has open, and is deleted by
// a later sweep.
void evict_one(const Store& store, const Usage& victim) {
  FileSystem& files = *store.files();
  const std::int64_t now = now_unix_s();
  Temporary grave(files, store.layout(), evicted_purpose(now));
  if (files.rename_directory(store.layout().entry(victim.name), grave.path()) != RenameResult::kRenamed) return;
  // A second look, after the rename: nobody can begin to load it now.
  const auto uses = files.status(grave.path() / kUsesFile);
  if (uses && now - uses->modified_unix_s < kLoadSeconds) grave.abandon();
}

}  // namespace

Usage entry_usage(const FileSystem& files, const Layout& layout, const std::string& name) {
  const Path path = layout.entry(name);
  Usage usage{.name = name};
  for (const char* file : {kManifestFile, kSourceFile, code_file(CodeKind::kCubin), code_file(CodeKind::kLtoIr)}) {
    const auto status = files.status(path / file);
    if (!status) continue;
    usage.bytes += status->bytes;
    usage.last_used_unix_ns = std::max(usage.last_used_unix_ns, status->modified_unix_ns);
  }
  if (const auto uses = files.status(path / kUsesFile)) {
    usage.uses = uses->bytes;
    usage.last_used_unix_ns = uses->modified_unix_ns;
  }
  return usage;
}

std::vector<Usage> usage(const FileSystem& files, const Layout& layout) {
  std::vector<Usage> usages;
  for (const std::string& shard : files.list(layout.version())) {
    if (shard.size() != 2) continue;
    for (const std::string& name : files.list(layout.version() / shard)) {
      if (is_library_name(name) && shard_of(name) == shard) usages.push_back(entry_usage(files, layout, name));
    }
  }
  std::ranges::sort(usages, {}, [](const Usage& u) { return std::pair(u.last_used_unix_ns, u.name); });
  return usages;
}

Totals totals(const std::vector<Usage>& usages) {
  Totals sum{.entries = usages.size()};
  for (const Usage& u : usages) sum.bytes += u.bytes;
  return sum;
}

Evicted evict(const Store& store, const Caps& caps) {
  FileSystem& files = *store.files();
  std::unique_ptr<HeldLock> held;
  try {
    held = files.try_lock(store.layout().locks(), kEvictionKey, store.layout().file_mode());
    if (!held) return {};
  } catch (const LocksUnsupported&) {
    // Two at once remove a little more than needed.
  }
  const auto usages = usage(files, store.layout());
  Evicted result{.names = {}, .before = totals(usages), .after = totals(usages)};
  const Caps target{target_of(caps.bytes), target_of(caps.entries)};
  if (is_above(result.before, caps)) {
    for (const Usage& victim : usages) {
      if (!is_above(result.after, target)) break;
      evict_one(store, victim);
      result.names.push_back(victim.name);
      result.after.bytes -= victim.bytes;
      --result.after.entries;
    }
  }
  // Whatever was published meanwhile is counted again at the next scan.
  const Counters now = store.counters().read();
  store.counters().add({.evictions = static_cast<std::int64_t>(result.names.size()),
                        .entries = static_cast<std::int64_t>(result.after.entries) - now.entries,
                        .bytes = static_cast<std::int64_t>(result.after.bytes) - now.bytes});
  return result;
}

}  // namespace cakejit::cache
