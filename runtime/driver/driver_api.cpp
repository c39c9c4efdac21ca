#include "runtime/driver/driver_api.hpp"

#include <fmt/format.h>

#include "cakejit/error.hpp"

namespace cakejit::driver {
namespace {

template <class Function>
void resolve(const DynamicLibrary& library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(library.find(symbol));
  if (function == nullptr) {
    throw Error(
        CAKE_STATUS_DRIVER_MISSING,
        fmt::format("the CUDA driver {} lacks {}; cakejit needs a driver of CUDA 12.0 or later (R525): update it",
                    library.path().string(), symbol));
  }
}

}  // namespace

void DriverApi::check(Result result, const char* call) const {
  if (result == kSuccess) return;
  const char* name = nullptr;
  const char* text = nullptr;
  GetErrorName(result, &name);
  GetErrorString(result, &text);
  throw Error(CAKE_STATUS_DRIVER,
              fmt::format("{} failed: {} ({}, CUresult {})", call, text != nullptr ? text : "unknown",
                          name != nullptr ? name : "unknown", result));
}

std::shared_ptr<const DriverApi> open_driver() {
  auto api = std::make_shared<DriverApi>();
  try {
    api->library = std::make_shared<DynamicLibrary>("libcuda.so.1", CAKE_STATUS_DRIVER_MISSING);
  } catch (const Error& error) {
    throw Error(CAKE_STATUS_DRIVER_MISSING,
                fmt::format("no CUDA driver: {}. Install the NVIDIA driver, or use CAKE_DEVICE_HOST.", error.what()));
  }
  const DynamicLibrary& library = *api->library;
  Result (*init)(unsigned) = nullptr;
  resolve(library, "cuInit", init);
  resolve(library, "cuGetErrorName", api->GetErrorName);
  resolve(library, "cuGetErrorString", api->GetErrorString);
  resolve(library, "cuCtxGetCurrent", api->CtxGetCurrent);
  resolve(library, "cuCtxGetId", api->CtxGetId);
  resolve(library, "cuCtxGetDevice", api->CtxGetDevice);
  resolve(library, "cuDeviceGetAttribute", api->DeviceGetAttribute);
  resolve(library, "cuStreamIsCapturing", api->StreamIsCapturing);
  resolve(library, "cuStreamSynchronize", api->StreamSynchronize);
  resolve(library, "cuMemcpyDtoHAsync_v2", api->MemcpyDtoHAsync);
  resolve(library, "cuLibraryLoadData", api->LibraryLoadData);
  resolve(library, "cuLibraryUnload", api->LibraryUnload);
  resolve(library, "cuLibraryGetKernel", api->LibraryGetKernel);
  resolve(library, "cuLaunchKernelEx", api->LaunchKernelEx);
  if (const Result result = init(0); result != kSuccess) {
    const char* name = nullptr;
    api->GetErrorName(result, &name);
    throw Error(
        CAKE_STATUS_DRIVER_MISSING,
        fmt::format("the CUDA driver {} does not start: cuInit gave {} (CUresult {}). Check that a GPU is visible "
                    "(nvidia-smi), or use CAKE_DEVICE_HOST.",
                    library.path().string(), name != nullptr ? name : "unknown", result));
  }
  return api;
}

}  // namespace cakejit::driver
