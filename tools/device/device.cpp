#include "tools/device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cakejit/error.hpp"

namespace cakejit::device {
namespace {

constexpr unsigned kStreamNonBlocking = 1;
constexpr int kCaptureThreadLocal = 1;

template <class Function>
void resolve(const DynamicLibrary& library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(library.find(symbol));
  if (function == nullptr) throw Error(CAKE_STATUS_DRIVER_MISSING, fmt::format("the CUDA driver lacks {}", symbol));
}

DeviceApi resolve_api(const DynamicLibrary& library) {
  DeviceApi api{};
  resolve(library, "cuDeviceGet", api.DeviceGet);
  resolve(library, "cuDeviceGetCount", api.DeviceGetCount);
  resolve(library, "cuDeviceGetName", api.DeviceGetName);
  resolve(library, "cuDeviceTotalMem_v2", api.DeviceTotalMem);
  resolve(library, "cuDriverGetVersion", api.DriverGetVersion);
  resolve(library, "cuDevicePrimaryCtxRetain", api.DevicePrimaryCtxRetain);
  resolve(library, "cuDevicePrimaryCtxRelease_v2", api.DevicePrimaryCtxRelease);
  resolve(library, "cuCtxSetCurrent", api.CtxSetCurrent);
  resolve(library, "cuCtxSynchronize", api.CtxSynchronize);
  resolve(library, "cuMemAlloc_v2", api.MemAlloc);
  resolve(library, "cuMemFree_v2", api.MemFree);
  resolve(library, "cuMemcpyHtoD_v2", api.MemcpyHtoD);
  resolve(library, "cuMemcpyDtoH_v2", api.MemcpyDtoH);
  resolve(library, "cuMemcpyDtoDAsync_v2", api.MemcpyDtoDAsync);
  resolve(library, "cuMemsetD8Async", api.MemsetD8Async);
  resolve(library, "cuStreamCreate", api.StreamCreate);
  resolve(library, "cuStreamDestroy_v2", api.StreamDestroy);
  resolve(library, "cuStreamBeginCapture_v2", api.StreamBeginCapture);
  resolve(library, "cuStreamEndCapture", api.StreamEndCapture);
  resolve(library, "cuGraphInstantiateWithFlags", api.GraphInstantiateWithFlags);
  resolve(library, "cuGraphLaunch", api.GraphLaunch);
  resolve(library, "cuGraphDestroy", api.GraphDestroy);
  resolve(library, "cuGraphExecDestroy", api.GraphExecDestroy);
  resolve(library, "cuEventCreate", api.EventCreate);
  resolve(library, "cuEventDestroy_v2", api.EventDestroy);
  resolve(library, "cuEventRecord", api.EventRecord);
  resolve(library, "cuEventSynchronize", api.EventSynchronize);
  resolve(library, "cuEventElapsedTime", api.EventElapsedTime);
  return api;
}

}  // namespace

std::unique_ptr<Device> Device::open(int ordinal, std::string* why) {
  try {
    return std::unique_ptr<Device>(new Device(driver::open_driver(), ordinal));
  } catch (const Error& error) {
    if (error.status() != CAKE_STATUS_DRIVER_MISSING) throw;
    if (why != nullptr) *why = error.what();
    return nullptr;
  }
}

Device::Device(std::shared_ptr<const driver::DriverApi> driver, int ordinal)
    : driver_(std::move(driver)), api_(resolve_api(*driver_->library)) {
  int count = 0;
  check(api_.DeviceGetCount(&count), "cuDeviceGetCount");
  if (ordinal >= count) {
    throw Error(CAKE_STATUS_DRIVER_MISSING, fmt::format("GPU {} was asked for; this machine has {}", ordinal, count));
  }
  check(api_.DeviceGet(&handle_, ordinal), "cuDeviceGet");
  check(api_.DevicePrimaryCtxRetain(&context_, handle_), "cuDevicePrimaryCtxRetain");
  make_current();
  read_facts();
}

Device::~Device() {
  api_.DevicePrimaryCtxRelease(handle_);
}

void Device::read_facts() {
  char name[256] = {};
  int version = 0;
  check(api_.DeviceGetName(name, sizeof name, handle_), "cuDeviceGetName");
  check(api_.DeviceTotalMem(&facts_.memory_bytes, handle_), "cuDeviceTotalMem");
  check(api_.DriverGetVersion(&version), "cuDriverGetVersion");
  const auto attribute = [&](int id, int& value) {
    check(driver_->DeviceGetAttribute(&value, id, handle_), "cuDeviceGetAttribute");
  };
  attribute(driver::kAttributeComputeMajor, facts_.compute_major);
  attribute(driver::kAttributeComputeMinor, facts_.compute_minor);
  attribute(driver::kAttributeMultiprocessorCount, facts_.multiprocessors);
  facts_.name = name;
  facts_.driver_version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

void Device::make_current() const {
  check(api_.CtxSetCurrent(context_), "cuCtxSetCurrent");
}

void Device::synchronize() const {
  check(api_.CtxSynchronize(), "cuCtxSynchronize");
}

Buffer::Buffer(const Device& device, std::size_t bytes) : device_(&device), bytes_(bytes) {
  device.check(device.api().MemAlloc(&address_, std::max<std::size_t>(bytes, 1)), "cuMemAlloc");
}

Buffer::Buffer(Buffer&& other) noexcept
    : device_(other.device_), address_(std::exchange(other.address_, 0)), bytes_(other.bytes_) {}

Buffer::~Buffer() {
  if (address_ != 0) device_->api().MemFree(address_);
}

void Buffer::upload(const void* source, std::size_t bytes, std::size_t offset) const {
  if (bytes != 0) device_->check(device_->api().MemcpyHtoD(address_ + offset, source, bytes), "cuMemcpyHtoD");
}

void Buffer::download(void* target, std::size_t bytes, std::size_t offset) const {
  if (bytes != 0) device_->check(device_->api().MemcpyDtoH(target, address_ + offset, bytes), "cuMemcpyDtoH");
}

void Buffer::fill(std::span<const std::byte> pattern) const {
  std::size_t done = std::min(pattern.size(), bytes_);
  upload(pattern.data(), done);
  while (done < bytes_) {  // doubles what is there; a whole number of patterns each time
    const std::size_t more = std::min(done, bytes_ - done);
    device_->check(device_->api().MemcpyDtoDAsync(address_ + done, address_, more, nullptr), "cuMemcpyDtoDAsync");
    done += more;
  }
  device_->synchronize();
}

Stream::Stream(const Device& device) : device_(device) {
  device.check(device.api().StreamCreate(&handle_, kStreamNonBlocking), "cuStreamCreate");
}

Stream::~Stream() {
  device_.api().StreamDestroy(handle_);
}

void Stream::synchronize() const {
  device_.check(device_.driver().StreamSynchronize(handle_), "cuStreamSynchronize");
}

Event::Event(const Device& device) : device_(&device) {
  device.check(device.api().EventCreate(&handle_, 0), "cuEventCreate");
}

Event::Event(Event&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

Event::~Event() {
  if (handle_ != nullptr) device_->api().EventDestroy(handle_);
}

void Event::record(const Stream& stream) const {
  device_->check(device_->api().EventRecord(handle_, stream.handle()), "cuEventRecord");
}

void Event::synchronize() const {
  device_->check(device_->api().EventSynchronize(handle_), "cuEventSynchronize");
}

double Event::ms_since(const Event& begin) const {
  float ms = 0;
  device_->check(device_->api().EventElapsedTime(&ms, begin.handle_, handle_), "cuEventElapsedTime");
  return static_cast<double>(ms);
}

Graph::Graph(const Device& device, const Stream& stream, const std::function<void()>& body) : device_(device) {
  device.check(device.api().StreamBeginCapture(stream.handle(), kCaptureThreadLocal), "cuStreamBeginCapture");
  GraphOpaque* graph = nullptr;
  try {
    body();
  } catch (...) {
    device.api().StreamEndCapture(stream.handle(), &graph);
    if (graph != nullptr) device.api().GraphDestroy(graph);
    throw;
  }
  device.check(device.api().StreamEndCapture(stream.handle(), &graph), "cuStreamEndCapture");
  const Result result = device.api().GraphInstantiateWithFlags(&executable_, graph, 0);
  device.api().GraphDestroy(graph);
  device.check(result, "cuGraphInstantiate");
}

Graph::~Graph() {
  device_.api().GraphExecDestroy(executable_);
}

void Graph::launch(const Stream& stream) const {
  device_.check(device_.api().GraphLaunch(executable_, stream.handle()), "cuGraphLaunch");
}

}  // namespace cakejit::device
