// A file's text, compiled into the program by cakejit_embed (cmake/CakejitTargets.cmake).
#pragma once

#include <string_view>

namespace cakejit {

struct EmbeddedSource {
  std::string_view name;  // the file's name without folders
  std::string_view text;
};

}  // namespace cakejit
