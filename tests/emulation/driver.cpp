// libcuda.so.1 with the functions that runtime/driver asks for, over the emulated GPU. cuLaunchKernelEx runs the
// kernel; a violation comes back as an error whose text cuGetErrorString gives, so that the C ABI reports it.
#include <cstring>

#include "runtime/driver/driver_types.hpp"
#include "tests/emulation/device.hpp"

namespace driver = cakejit::driver;
using cakejit::emulation::device;
using cakejit::emulation::Kernel;
using driver::Result;

namespace {

constexpr Result kNotFound = 500;       // CUDA_ERROR_NOT_FOUND
constexpr Result kLaunchFailed = 719;   // CUDA_ERROR_LAUNCH_FAILED
constexpr Result kInvalidArgument = 1;  // CUDA_ERROR_INVALID_VALUE

template <class Handle>
Handle some_handle() {
  static int somewhere;
  return reinterpret_cast<Handle>(&somewhere);
}

}  // namespace

#define DRIVER_FUNCTION extern "C" __attribute__((visibility("default"))) Result

DRIVER_FUNCTION cuInit(unsigned) {
  return driver::kSuccess;
}

DRIVER_FUNCTION cuGetErrorName(Result, const char** name) {
  *name = "emulated";
  return driver::kSuccess;
}

DRIVER_FUNCTION cuGetErrorString(Result result, const char** text) {
  *text = result == kLaunchFailed ? device().last_violation().c_str()
          : result == kNotFound   ? "this kernel was not compiled for the emulation"
                                  : "invalid argument";
  return driver::kSuccess;
}

DRIVER_FUNCTION cuCtxGetCurrent(driver::ContextHandle* context) {
  *context = some_handle<driver::ContextHandle>();
  return driver::kSuccess;
}

DRIVER_FUNCTION cuCtxGetId(driver::ContextHandle, unsigned long long* id) {
  *id = static_cast<unsigned long long>(device().multiprocessors);  // a plan is for a GPU of one size
  return driver::kSuccess;
}

DRIVER_FUNCTION cuCtxGetDevice(driver::Device* ordinal) {
  *ordinal = 0;
  return driver::kSuccess;
}

DRIVER_FUNCTION cuDeviceGetAttribute(int* value, int attribute, driver::Device) {
  switch (attribute) {
    case driver::kAttributeComputeMajor: *value = 9; return driver::kSuccess;
    case driver::kAttributeComputeMinor: *value = 0; return driver::kSuccess;
    case driver::kAttributeMultiprocessorCount: *value = device().multiprocessors; return driver::kSuccess;
    default: return kInvalidArgument;
  }
}

DRIVER_FUNCTION cuStreamIsCapturing(driver::StreamHandle, int* status) {
  *status = driver::kCaptureNone;
  return driver::kSuccess;
}

DRIVER_FUNCTION cuStreamSynchronize(driver::StreamHandle) {
  return driver::kSuccess;
}

DRIVER_FUNCTION cuMemcpyDtoHAsync_v2(void* to, driver::DevicePointer from, std::size_t bytes, driver::StreamHandle) {
  if (device().memory().cells(reinterpret_cast<const void*>(from), bytes) == nullptr) return kInvalidArgument;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return driver::kSuccess;
}

DRIVER_FUNCTION cuLibraryLoadData(driver::LibraryHandle* library, const void*, int*, void**, unsigned, int*, void**,
                                  unsigned) {
  *library = some_handle<driver::LibraryHandle>();
  return driver::kSuccess;
}

DRIVER_FUNCTION cuLibraryUnload(driver::LibraryHandle) {
  return driver::kSuccess;
}

DRIVER_FUNCTION cuLibraryGetKernel(driver::KernelHandle* handle, driver::LibraryHandle, const char* name) {
  const Kernel* const kernel = cakejit::emulation::find_kernel(name);
  *handle = reinterpret_cast<driver::KernelHandle>(const_cast<Kernel*>(kernel));
  return kernel != nullptr ? driver::kSuccess : kNotFound;
}

DRIVER_FUNCTION cuLaunchKernelEx(const driver::LaunchConfig* config, driver::KernelHandle handle, void** parameters,
                                 void**) {
  const bool one_dimension = config->grid_y * config->grid_z * config->block_y * config->block_z == 1;
  if (!one_dimension || config->shared_bytes != 0 || config->grid_x == 0 || config->block_x > 1024) {
    return kInvalidArgument;
  }
  bool programmatic = false;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const driver::LaunchAttribute& attribute = config->attributes[i];
    if (attribute.id != driver::kLaunchProgrammaticStreamSerialization) return kInvalidArgument;
    programmatic = attribute.value != 0;
  }
  const auto& kernel = *reinterpret_cast<const Kernel*>(handle);
  const std::string violation = device().launch(kernel, {config->grid_x, config->block_x, programmatic}, parameters[0]);
  return violation.empty() ? driver::kSuccess : kLaunchFailed;
}
