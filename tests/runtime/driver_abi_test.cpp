// The driver's types as declared in runtime/driver/driver_types.hpp, against NVIDIA's own cuda.h: a difference does not
// compile. Where there is no cuda.h, only that is said.
#include <catch2/catch.hpp>

#include "runtime/driver/driver_api.hpp"

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <cstddef>
#include <type_traits>

using namespace cakejit::driver;

// The launch's configuration, member by member.
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig) && alignof(LaunchConfig) == alignof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, grid_x) == offsetof(CUlaunchConfig, gridDimX));
static_assert(offsetof(LaunchConfig, grid_y) == offsetof(CUlaunchConfig, gridDimY));
static_assert(offsetof(LaunchConfig, grid_z) == offsetof(CUlaunchConfig, gridDimZ));
static_assert(offsetof(LaunchConfig, block_x) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(LaunchConfig, block_y) == offsetof(CUlaunchConfig, blockDimY));
static_assert(offsetof(LaunchConfig, block_z) == offsetof(CUlaunchConfig, blockDimZ));
static_assert(offsetof(LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(std::is_same_v<decltype(LaunchConfig::grid_x), decltype(CUlaunchConfig::gridDimX)> &&
              std::is_same_v<decltype(LaunchConfig::shared_bytes), decltype(CUlaunchConfig::sharedMemBytes)> &&
              std::is_same_v<decltype(LaunchConfig::attribute_count), decltype(CUlaunchConfig::numAttrs)>);

// One launch attribute: its id, then the value at the same place.
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, id) == offsetof(CUlaunchAttribute, id));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(LaunchAttribute::bytes) == sizeof(CUlaunchAttributeValue));
static_assert(offsetof(CUlaunchAttributeValue, programmaticStreamSerializationAllowed) == 0 &&
              std::is_same_v<decltype(CUlaunchAttributeValue::programmaticStreamSerializationAllowed), int>);

// Codes.
static_assert(sizeof(Result) == sizeof(CUresult) && kSuccess == CUDA_SUCCESS);
static_assert(kAttributeMultiprocessorCount == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(kAttributeComputeMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(kAttributeComputeMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(kCaptureNone == CU_STREAM_CAPTURE_STATUS_NONE && sizeof(CUstreamCaptureStatus) == sizeof(int));
static_assert(kLaunchProgrammaticStreamSerialization == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(std::is_same_v<Device, CUdevice> && std::is_same_v<DevicePointer, CUdeviceptr>);

namespace {

// Same number of parameters, each of the same size and kind (pointer, integer or enum), and the same result.
template <class Ours, class Theirs>
constexpr bool kSameKind = sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;

template <class Ours, class Theirs>
constexpr bool kSameCall = false;
template <class OurResult, class... Ours, class TheirResult, class... Theirs>
constexpr bool kSameCall<OurResult (*)(Ours...), TheirResult(Theirs...)> = [] {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
    return kSameKind<OurResult, TheirResult> && (kSameKind<Ours, Theirs> && ...);
  } else {
    return false;
  }
}();

}  // namespace

// cuda.h maps cuMemcpyDtoHAsync to the _v2 that open_driver() looks up.
static_assert(kSameCall<decltype(DriverApi::GetErrorName), decltype(cuGetErrorName)>);
static_assert(kSameCall<decltype(DriverApi::GetErrorString), decltype(cuGetErrorString)>);
static_assert(kSameCall<decltype(DriverApi::CtxGetCurrent), decltype(cuCtxGetCurrent)>);
static_assert(kSameCall<decltype(DriverApi::CtxGetId), decltype(cuCtxGetId)>);
static_assert(kSameCall<decltype(DriverApi::CtxGetDevice), decltype(cuCtxGetDevice)>);
static_assert(kSameCall<decltype(DriverApi::DeviceGetAttribute), decltype(cuDeviceGetAttribute)>);
static_assert(kSameCall<decltype(DriverApi::StreamIsCapturing), decltype(cuStreamIsCapturing)>);
static_assert(kSameCall<decltype(DriverApi::StreamSynchronize), decltype(cuStreamSynchronize)>);
static_assert(kSameCall<decltype(DriverApi::MemcpyDtoHAsync), decltype(cuMemcpyDtoHAsync)>);
static_assert(kSameCall<decltype(DriverApi::LibraryLoadData), decltype(cuLibraryLoadData)>);
static_assert(kSameCall<decltype(DriverApi::LibraryUnload), decltype(cuLibraryUnload)>);
static_assert(kSameCall<decltype(DriverApi::LibraryGetKernel), decltype(cuLibraryGetKernel)>);
static_assert(kSameCall<decltype(DriverApi::LaunchKernelEx), decltype(cuLaunchKernelEx)>);

TEST_CASE("the driver's types and calls are declared as cuda.h declares them") {
  static_assert(CUDA_VERSION >= 12000, "the launch attributes and the library calls are those of CUDA 12");
  SUCCEED("compiled against cuda.h " << CUDA_VERSION);
}
#else
TEST_CASE("the driver's types and calls are declared as cuda.h declares them") {
  WARN("SKIPPED: no cuda.h was found when this test was built");
}
#endif
