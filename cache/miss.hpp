// Why a store has no entry for a request, in words.
#pragma once

#include <string>
#include <vector>

#include "cache/store.hpp"

namespace cakejit::cache {

// "has no entry", or the nearest entry and the fields in which it differs from what was asked for: target, ABI, the
// specialisation's fields, the kernels' source. Reads every manifest of the store. Never throws but std::bad_alloc.
std::string explain_miss(const Store& store, const Request& request);

// The fields in which an entry differs from a request: "channels is 4096, not 1160".
std::vector<std::string> differences(const Manifest& manifest, const Request& request);

}  // namespace cakejit::cache
