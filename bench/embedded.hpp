// The device sources of the benchmarks as text, embedded at build time.
#pragma once

#include <span>

#include "runtime/base/embedded_source.hpp"

namespace cakejit::bench {

std::span<const EmbeddedSource> embedded_sources();

}  // namespace cakejit::bench
