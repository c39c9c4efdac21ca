// The kernel sources as text, embedded at build time. Names are file names of this folder.
#pragma once

#include <span>
#include <string_view>

namespace cakejit::kernels {

struct EmbeddedSource {
  std::string_view name;
  std::string_view text;
};

std::span<const EmbeddedSource> embedded_sources();

}  // namespace cakejit::kernels
