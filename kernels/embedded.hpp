// The kernel sources of this folder as text, embedded at build time.
#pragma once

#include <span>

#include "runtime/base/embedded_source.hpp"

namespace cakejit::kernels {

std::span<const EmbeddedSource> embedded_sources();

}  // namespace cakejit::kernels
