#include "jit/nvrtc_api.hpp"

#include <fmt/format.h>

#include "cakejit/error.hpp"

namespace cakejit::jit {
namespace {

// No CUDA release had more minor releases than this; it bounds the search for versioned names.
constexpr int kNewestMinor = 15;

void* versioned(const DynamicLibrary& library, const std::string& name, int major, int minor) {
  return library.find(fmt::format("__{}_{}_{}", name, major, minor).c_str());
}

template <class Function>
void bind(Function& function, void* address, const DynamicLibrary& library, const std::string& name) {
  if (address == nullptr) {
    throw Error(CAKE_STATUS_TOOLCHAIN_MISSING, fmt::format("{} lacks the function {}", library.path().string(), name));
  }
  function = reinterpret_cast<Function>(address);
}

template <class Function>
void bind_nvrtc(Function& function, const DynamicLibrary& library, const char* name) {
  bind(function, library.find(name), library, name);
}

template <class Function>
void bind_nvjitlink(Function& function, const DynamicLibrary& library, int major, const char* name) {
  void* address = library.find(name);
  for (int minor = kNewestMinor; address == nullptr && minor >= 0; --minor) {
    address = versioned(library, name, major, minor);
  }
  bind(function, address, library, name);
}

}  // namespace

NvrtcApi load_nvrtc(const DynamicLibrary& library) {
  NvrtcApi api{};
  bind_nvrtc(api.version, library, "nvrtcVersion");
  bind_nvrtc(api.error_string, library, "nvrtcGetErrorString");
  bind_nvrtc(api.num_supported_archs, library, "nvrtcGetNumSupportedArchs");
  bind_nvrtc(api.supported_archs, library, "nvrtcGetSupportedArchs");
  bind_nvrtc(api.create_program, library, "nvrtcCreateProgram");
  bind_nvrtc(api.destroy_program, library, "nvrtcDestroyProgram");
  bind_nvrtc(api.compile_program, library, "nvrtcCompileProgram");
  bind_nvrtc(api.lto_ir_size, library, "nvrtcGetLTOIRSize");
  bind_nvrtc(api.lto_ir, library, "nvrtcGetLTOIR");
  bind_nvrtc(api.log_size, library, "nvrtcGetProgramLogSize");
  bind_nvrtc(api.log, library, "nvrtcGetProgramLog");
  return api;
}

NvJitLinkApi load_nvjitlink(const DynamicLibrary& library, int major) {
  NvJitLinkApi api{};
  api.version = reinterpret_cast<decltype(api.version)>(library.find("nvJitLinkVersion"));
  bind_nvjitlink(api.create, library, major, "nvJitLinkCreate");
  bind_nvjitlink(api.destroy, library, major, "nvJitLinkDestroy");
  bind_nvjitlink(api.add_data, library, major, "nvJitLinkAddData");
  bind_nvjitlink(api.complete, library, major, "nvJitLinkComplete");
  bind_nvjitlink(api.cubin_size, library, major, "nvJitLinkGetLinkedCubinSize");
  bind_nvjitlink(api.cubin, library, major, "nvJitLinkGetLinkedCubin");
  bind_nvjitlink(api.error_log_size, library, major, "nvJitLinkGetErrorLogSize");
  bind_nvjitlink(api.error_log, library, major, "nvJitLinkGetErrorLog");
  bind_nvjitlink(api.info_log_size, library, major, "nvJitLinkGetInfoLogSize");
  bind_nvjitlink(api.info_log, library, major, "nvJitLinkGetInfoLog");
  return api;
}

Version nvrtc_version(const NvrtcApi& api) {
  Version version;
  if (api.version(&version.major, &version.minor) != kNvrtcSuccess) return {};
  return version;
}

Version nvjitlink_version(const NvJitLinkApi& api, const DynamicLibrary& library, int major) {
  unsigned reported_major = 0;
  unsigned reported_minor = 0;
  if (api.version != nullptr && api.version(&reported_major, &reported_minor) == kNvJitLinkSuccess) {
    return {static_cast<int>(reported_major), static_cast<int>(reported_minor)};
  }
  for (int minor = kNewestMinor; minor >= 0; --minor) {
    if (versioned(library, "nvJitLinkCreate", major, minor) != nullptr) return {major, minor};
  }
  return {};
}

}  // namespace cakejit::jit
