// An entry from one writable store, built once over threads, processes and machines that share it.
#pragma once

#include <functional>
#include <optional>

#include "cache/build_lock.hpp"
#include "cache/store.hpp"

namespace cakejit::cache {

// Builds the entry on a miss. Whatever it throws reaches the caller unchanged, and nothing is remembered.
using Producer = std::function<Entry()>;

// Says whether an entry that was found may be used (compiler policy).
using Acceptable = std::function<bool(const Manifest&)>;

struct Flight {
  Entry entry;
  bool was_built = false;
  std::optional<Error> not_kept;  // why the built entry could not be published
};

// The entry of `store`; if it isn't there, another's as soon as it is published, or producer()'s, which is then published. An entry
// that is there but not acceptable is replaced.
Flight load_or_build(const Store& store, const Request& request, const Producer& producer, const Acceptable& acceptable,
                     const std::shared_ptr<spdlog::logger>& log, const LockTiming& timing = {});

}  // namespace cakejit::cache
