// The CUDA driver as a table of functions, opened with dlopen. The table is a value handed to whoever needs it: tests
// put failing functions in it.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/dynamic_library.hpp"
#include "runtime/driver/driver_types.hpp"

namespace cakejit::driver {

// Members are named after the driver's functions without their cu prefix and version suffix.
struct DriverApi {
  Result (*GetErrorName)(Result, const char**);
  Result (*GetErrorString)(Result, const char**);
  Result (*CtxGetCurrent)(ContextHandle*);
  Result (*CtxGetId)(ContextHandle, unsigned long long*);
  Result (*CtxGetDevice)(Device*);
  Result (*DeviceGetAttribute)(int*, int attribute, Device);
  Result (*StreamIsCapturing)(StreamHandle, int* status);
  Result (*StreamSynchronize)(StreamHandle);
  Result (*MemcpyDtoHAsync)(void*, DevicePointer, std::size_t, StreamHandle);
  Result (*LibraryLoadData)(LibraryHandle*, const void* code, int*, void**, unsigned, int*, void**, unsigned);
  Result (*LibraryUnload)(LibraryHandle);
  Result (*LibraryGetKernel)(KernelHandle*, LibraryHandle, const char* name);
  Result (*LaunchKernelEx)(const LaunchConfig*, KernelHandle, void** parameters, void** extra);

  std::shared_ptr<DynamicLibrary> library;  // keeps the code mapped; empty in tests

  // Throws Error(DRIVER) with the call's name and the driver's name and text of the error, unless `result` is success.
  void check(Result result, const char* call) const;
};

// Opens libcuda.so.1 and initialises the driver. Throws Error(DRIVER_MISSING) with what to do.
std::shared_ptr<const DriverApi> open_driver();

}  // namespace cakejit::driver
