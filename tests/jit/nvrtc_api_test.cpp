#include "jit/nvrtc_api.hpp"

#include <catch2/catch.hpp>
#include <type_traits>

#include "cakejit/error.hpp"

#if __has_include(<nvrtc.h>) && __has_include(<nvJitLink.h>)
#include <nvJitLink.h>
#include <nvrtc.h>
#define HAVE_NVIDIA_HEADERS
#endif

using namespace cakejit;
using namespace cakejit::jit;

TEST_CASE("a library that is not NVRTC is refused with the function it lacks") {
  const DynamicLibrary libc("libc.so.6", CAKE_STATUS_TOOLCHAIN_MISSING);
  CHECK_THROWS_WITH(load_nvrtc(libc), Catch::Contains("libc.so.6 lacks the function nvrtcVersion"));
  CHECK_THROWS_WITH(load_nvjitlink(libc, 13), Catch::Contains("libc.so.6 lacks the function nvJitLinkCreate"));
}

#ifdef HAVE_NVIDIA_HEADERS
namespace {

// Handles and enums have other names there; what must agree is what the machine sees.
template <class Ours, class Theirs>
constexpr bool same_abi_type() {
  if (std::is_pointer_v<Ours>) return std::is_pointer_v<Theirs>;
  if (std::is_enum_v<Theirs>) return std::is_integral_v<Ours> && sizeof(Ours) == sizeof(Theirs);
  return std::is_same_v<Ours, Theirs>;
}

template <class Ours, class Theirs>
struct SameAbi;

template <class Ours, class... OurArgs, class Theirs, class... TheirArgs>
struct SameAbi<Ours (*)(OurArgs...), Theirs (*)(TheirArgs...)> {
  static constexpr bool value() {
    if constexpr (sizeof...(OurArgs) != sizeof...(TheirArgs)) {
      return false;
    } else {
      return same_abi_type<Ours, Theirs>() && (same_abi_type<OurArgs, TheirArgs>() && ...);
    }
  }
};

static_assert(SameAbi<decltype(NvrtcApi::version), decltype(&nvrtcVersion)>::value());
static_assert(SameAbi<decltype(NvrtcApi::error_string), decltype(&nvrtcGetErrorString)>::value());
static_assert(SameAbi<decltype(NvrtcApi::num_supported_archs), decltype(&nvrtcGetNumSupportedArchs)>::value());
static_assert(SameAbi<decltype(NvrtcApi::supported_archs), decltype(&nvrtcGetSupportedArchs)>::value());
static_assert(SameAbi<decltype(NvrtcApi::create_program), decltype(&nvrtcCreateProgram)>::value());
static_assert(SameAbi<decltype(NvrtcApi::destroy_program), decltype(&nvrtcDestroyProgram)>::value());
static_assert(SameAbi<decltype(NvrtcApi::compile_program), decltype(&nvrtcCompileProgram)>::value());
static_assert(SameAbi<decltype(NvrtcApi::lto_ir_size), decltype(&nvrtcGetLTOIRSize)>::value());
static_assert(SameAbi<decltype(NvrtcApi::lto_ir), decltype(&nvrtcGetLTOIR)>::value());
static_assert(SameAbi<decltype(NvrtcApi::log_size), decltype(&nvrtcGetProgramLogSize)>::value());
static_assert(SameAbi<decltype(NvrtcApi::log), decltype(&nvrtcGetProgramLog)>::value());

static_assert(SameAbi<decltype(NvJitLinkApi::create), decltype(&nvJitLinkCreate)>::value());
static_assert(SameAbi<decltype(NvJitLinkApi::destroy), decltype(&nvJitLinkDestroy)>::value());
static_assert(SameAbi<decltype(NvJitLinkApi::add_data), decltype(&nvJitLinkAddData)>::value());
static_assert(SameAbi<decltype(NvJitLinkApi::complete), decltype(&nvJitLinkComplete)>::value());
static_assert(SameAbi<decltype(NvJitLinkApi::cubin_size), decltype(&nvJitLinkGetLinkedCubinSize)>::value());
static_assert(SameAbi<decltype(NvJitLinkApi::cubin), decltype(&nvJitLinkGetLinkedCubin)>::value());
static_assert(SameAbi<decltype(NvJitLinkApi::error_log_size), decltype(&nvJitLinkGetErrorLogSize)>::value());
static_assert(SameAbi<decltype(NvJitLinkApi::error_log), decltype(&nvJitLinkGetErrorLog)>::value());
static_assert(SameAbi<decltype(NvJitLinkApi::info_log_size), decltype(&nvJitLinkGetInfoLogSize)>::value());
static_assert(SameAbi<decltype(NvJitLinkApi::info_log), decltype(&nvJitLinkGetInfoLog)>::value());

static_assert(kNvrtcSuccess == NVRTC_SUCCESS);
static_assert(kNvrtcErrorCompilation == NVRTC_ERROR_COMPILATION);
static_assert(kNvJitLinkSuccess == NVJITLINK_SUCCESS);
static_assert(kNvJitLinkErrorUnrecognizedArch == NVJITLINK_ERROR_UNRECOGNIZED_ARCH);
static_assert(kNvJitLinkErrorUnsupportedArch == NVJITLINK_ERROR_UNSUPPORTED_ARCH);
static_assert(kNvJitLinkInputLtoIr == NVJITLINK_INPUT_LTOIR);

}  // namespace
#endif
