// Runs independent tasks on a few threads.
#pragma once

#include <cstdint>
#include <functional>

namespace cakejit::host {

// Calls task(i) once for each i in [0, count), on the calling thread and up to `threads` - 1 more, in no particular
// order. `task` must not throw. Where the system refuses a thread, those already there do its share.
void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task);

}  // namespace cakejit::host
