// How many builds run at a time when the user doesn't say.
#pragma once

namespace cakejit::tools::aot {

// The CPUs this process may run on, but no more than memory has room for; at least 1.
int default_jobs();

}  // namespace cakejit::tools::aot
