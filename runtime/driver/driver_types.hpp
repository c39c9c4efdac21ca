// The CUDA driver's types, as far as this library uses them, declared here so that it builds where no CUDA headers are.
// Layouts and values are the driver's stable ABI; tests/runtime/driver_abi_test.cpp compares them with cuda.h where
// there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cakejit::driver {

using Result = int;  // CUresult
inline constexpr Result kSuccess = 0;

using Device = int;
using DevicePointer = unsigned long long;
struct ContextOpaque;
struct StreamOpaque;
struct LibraryOpaque;
struct KernelOpaque;
using ContextHandle = ContextOpaque*;
using StreamHandle = StreamOpaque*;
using LibraryHandle = LibraryOpaque*;
using KernelHandle = KernelOpaque*;

// CUdevice_attribute
inline constexpr int kAttributeMultiprocessorCount = 16;
inline constexpr int kAttributeComputeMajor = 75;
inline constexpr int kAttributeComputeMinor = 76;

// CUstreamCaptureStatus
inline constexpr int kCaptureNone = 0;

// CUlaunchAttributeID
inline constexpr int kLaunchProgrammaticStreamSerialization = 6;

// CUlaunchAttribute: an id and a 64-byte value, here always an int.
struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    int value;
  };
};

// CUlaunchConfig
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

}  // namespace cakejit::driver
