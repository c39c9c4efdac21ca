// The functions of NVRTC and nvJitLink that this project calls, declared here so that it builds where no CUDA headers
// exist. tests/jit/nvrtc_api_test.cpp compares these declarations with NVIDIA's headers where those are at hand.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/dynamic_library.hpp"

namespace cakejit::jit {

struct Version {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};

using NvrtcProgram = struct NvrtcProgramOpaque*;
using NvrtcResult = int;
inline constexpr NvrtcResult kNvrtcSuccess = 0;
inline constexpr NvrtcResult kNvrtcErrorCompilation = 6;

struct NvrtcApi {
  NvrtcResult (*version)(int* major, int* minor);
  const char* (*error_string)(NvrtcResult result);
  NvrtcResult (*num_supported_archs)(int* count);
  NvrtcResult (*supported_archs)(int* archs);
  NvrtcResult (*create_program)(NvrtcProgram* program, const char* source, const char* name, int header_count,
                                const char* const* headers, const char* const* include_names);
  NvrtcResult (*destroy_program)(NvrtcProgram* program);
  NvrtcResult (*compile_program)(NvrtcProgram program, int option_count, const char* const* options);
  NvrtcResult (*lto_ir_size)(NvrtcProgram program, std::size_t* bytes);
  NvrtcResult (*lto_ir)(NvrtcProgram program, char* lto_ir);
  NvrtcResult (*log_size)(NvrtcProgram program, std::size_t* bytes);  // counts the terminating NUL
  NvrtcResult (*log)(NvrtcProgram program, char* log);
};

using NvJitLinkHandle = struct NvJitLinkOpaque*;
using NvJitLinkResult = int;
inline constexpr NvJitLinkResult kNvJitLinkSuccess = 0;
inline constexpr NvJitLinkResult kNvJitLinkErrorUnrecognizedArch = 16;
inline constexpr NvJitLinkResult kNvJitLinkErrorUnsupportedArch = 17;
inline constexpr int kNvJitLinkInputLtoIr = 3;

struct NvJitLinkApi {
  NvJitLinkResult (*version)(unsigned* major, unsigned* minor);  // nullptr up to 12.2
  NvJitLinkResult (*create)(NvJitLinkHandle* handle, std::uint32_t option_count, const char** options);
  NvJitLinkResult (*destroy)(NvJitLinkHandle* handle);
  NvJitLinkResult (*add_data)(NvJitLinkHandle handle, int input_type, const void* data, std::size_t bytes,
                              const char* name);
  NvJitLinkResult (*complete)(NvJitLinkHandle handle);
  NvJitLinkResult (*cubin_size)(NvJitLinkHandle handle, std::size_t* bytes);
  NvJitLinkResult (*cubin)(NvJitLinkHandle handle, void* cubin);
  NvJitLinkResult (*error_log_size)(NvJitLinkHandle handle, std::size_t* bytes);  // without a terminating NUL
  NvJitLinkResult (*error_log)(NvJitLinkHandle handle, char* log);
  NvJitLinkResult (*info_log_size)(NvJitLinkHandle handle, std::size_t* bytes);
  NvJitLinkResult (*info_log)(NvJitLinkHandle handle, char* log);
};

// Both throw Error(TOOLCHAIN_MISSING) that names the first symbol the library lacks.
NvrtcApi load_nvrtc(const DynamicLibrary& library);
// nvJitLink's functions have a version in their names (nvJitLink.h's inline functions hide it): plain names exist in
// the libraries of later releases only, so `<name>` is tried first, then __<name>_<major>_<minor>, newest minor first.
NvJitLinkApi load_nvjitlink(const DynamicLibrary& library, int major);

// What the library says of itself; nvJitLink can't up to 12.2, so there the newest minor of its symbols is the answer.
Version nvrtc_version(const NvrtcApi& api);
Version nvjitlink_version(const NvJitLinkApi& api, const DynamicLibrary& library, int major);

}  // namespace cakejit::jit
