// A GPU for the tools and tests: its primary context, memory, streams, events and graphs, each freed with its owner.
// The library itself uses none of this: its callers own memory and streams.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "runtime/driver/driver_api.hpp"

namespace cakejit::device {

using driver::DevicePointer;
using driver::Result;
using driver::StreamHandle;
struct EventOpaque;
struct GraphOpaque;
struct GraphExecOpaque;

// The driver's functions beyond those that the library needs.
struct DeviceApi {
  Result (*DeviceGet)(driver::Device*, int ordinal);
  Result (*DeviceGetCount)(int*);
  Result (*DeviceGetName)(char*, int, driver::Device);
  Result (*DeviceTotalMem)(std::size_t*, driver::Device);
  Result (*DriverGetVersion)(int*);
  Result (*DevicePrimaryCtxRetain)(driver::ContextHandle*, driver::Device);
  Result (*DevicePrimaryCtxRelease)(driver::Device);
  Result (*CtxSetCurrent)(driver::ContextHandle);
  Result (*CtxSynchronize)();
  Result (*MemAlloc)(DevicePointer*, std::size_t);
  Result (*MemFree)(DevicePointer);
  Result (*MemcpyHtoD)(DevicePointer, const void*, std::size_t);
  Result (*MemcpyDtoH)(void*, DevicePointer, std::size_t);
  Result (*MemcpyDtoDAsync)(DevicePointer, DevicePointer, std::size_t, StreamHandle);
  Result (*MemsetD8Async)(DevicePointer, unsigned char, std::size_t, StreamHandle);
  Result (*StreamCreate)(StreamHandle*, unsigned flags);
  Result (*StreamDestroy)(StreamHandle);
  Result (*StreamBeginCapture)(StreamHandle, int mode);
  Result (*StreamEndCapture)(StreamHandle, GraphOpaque**);
  Result (*GraphInstantiateWithFlags)(GraphExecOpaque**, GraphOpaque*, unsigned long long flags);
  Result (*GraphLaunch)(GraphExecOpaque*, StreamHandle);
  Result (*GraphDestroy)(GraphOpaque*);
  Result (*GraphExecDestroy)(GraphExecOpaque*);
  Result (*EventCreate)(EventOpaque**, unsigned flags);
  Result (*EventDestroy)(EventOpaque*);
  Result (*EventRecord)(EventOpaque*, StreamHandle);
  Result (*EventSynchronize)(EventOpaque*);
  Result (*EventElapsedTime)(float* ms, EventOpaque*, EventOpaque*);
};

struct Facts {
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
  std::string driver_version;  // the CUDA version that the driver supports: "13.0"
};

// GPU `ordinal`, its primary context current on the constructing thread.
class Device {
 public:
  // nullptr when this machine has no driver or no GPU; then *why (may be null) says so.
  static std::unique_ptr<Device> open(int ordinal, std::string* why);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const DeviceApi& api() const { return api_; }
  [[nodiscard]] const driver::DriverApi& driver() const { return *driver_; }
  [[nodiscard]] const Facts& facts() const { return facts_; }
  void check(Result result, const char* call) const { driver_->check(result, call); }
  void make_current() const;
  void synchronize() const;

 private:
  Device(std::shared_ptr<const driver::DriverApi> driver, int ordinal);
  void read_facts();

  std::shared_ptr<const driver::DriverApi> driver_;
  DeviceApi api_{};
  driver::Device handle_ = 0;
  driver::ContextHandle context_ = nullptr;
  Facts facts_;
};

// Device memory, aligned to 256 bytes by the driver.
class Buffer {
 public:
  Buffer(const Device& device, std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer& operator=(Buffer&&) = delete;

  [[nodiscard]] DevicePointer address() const { return address_; }
  [[nodiscard]] void* at(std::size_t offset) const { return reinterpret_cast<void*>(address_ + offset); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void upload(const void* source, std::size_t bytes, std::size_t offset = 0) const;
  void download(void* target, std::size_t bytes, std::size_t offset = 0) const;
  // Repeats `pattern` over the whole buffer.
  void fill(std::span<const std::byte> pattern) const;

 private:
  const Device* device_;
  DevicePointer address_ = 0;
  std::size_t bytes_;
};

class Stream {
 public:
  explicit Stream(const Device& device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] StreamHandle handle() const { return handle_; }
  void synchronize() const;

 private:
  const Device& device_;
  StreamHandle handle_ = nullptr;
};

class Event {
 public:
  explicit Event(const Device& device);
  ~Event();
  Event(Event&& other) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event& operator=(Event&&) = delete;
  void record(const Stream& stream) const;
  void synchronize() const;
  [[nodiscard]] double ms_since(const Event& begin) const;

 private:
  const Device* device_;
  EventOpaque* handle_ = nullptr;
};

// What `body` puts on `stream`, captured; launch() replays it.
class Graph {
 public:
  Graph(const Device& device, const Stream& stream, const std::function<void()>& body);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(const Stream& stream) const;

 private:
  const Device& device_;
  GraphExecOpaque* executable_ = nullptr;
};

}  // namespace cakejit::device
