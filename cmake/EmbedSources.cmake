# Writes OUTPUT, a C++ source that holds the text of each of SOURCES (a list of paths), keyed by file name.
# Run with cmake -P. String literals are cut into pieces below the 64 KiB that C++ compilers guarantee.
set(entries "")
foreach(path IN LISTS SOURCES)
  get_filename_component(name ${path} NAME)
  file(READ ${path} text)
  string(LENGTH "${text}" length)
  if(length GREATER 60000)
    message(FATAL_ERROR "${path} is too long for one string literal (${length} bytes)")
  endif()
  string(APPEND entries "    {\"${name}\", R\"__cakejit__(${text})__cakejit__\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new
"// Generated from kernels/ by cmake/EmbedSources.cmake.
#include \"kernels/embedded.hpp\"

namespace cakejit::kernels {

std::span<const EmbeddedSource> embedded_sources() {
  static constexpr EmbeddedSource kSources[] = {
${entries}  };
  return kSources;
}

}  // namespace cakejit::kernels
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
