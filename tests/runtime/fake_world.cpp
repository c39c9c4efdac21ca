#include "tests/runtime/fake_world.hpp"

#include "tests/support/tiny_cubin.hpp"

namespace cakejit::test {
namespace {

driver::DriverApi fake_driver() {
  driver::DriverApi api{};
  api.GetErrorName = [](driver::Result, const char** name) {
    *name = "FAKE_ERROR";
    return driver::kSuccess;
  };
  api.GetErrorString = [](driver::Result, const char** text) {
    *text = "injected";
    return driver::kSuccess;
  };
  api.CtxGetCurrent = [](driver::ContextHandle* context) {
    *context = reinterpret_cast<driver::ContextHandle>(0x10);
    return world.result("cuCtxGetCurrent");
  };
  api.CtxGetId = [](driver::ContextHandle, unsigned long long* id) {
    *id = 7;
    return world.result("cuCtxGetId");
  };
  api.CtxGetDevice = [](driver::Device* device) {
    *device = 0;
    return world.result("cuCtxGetDevice");
  };
  api.DeviceGetAttribute = [](int* value, int attribute, driver::Device) {
    *value = attribute == driver::kAttributeComputeMajor ? 9 : 0;
    return world.result("cuDeviceGetAttribute");
  };
  api.StreamIsCapturing = [](driver::StreamHandle, int* status) {
    *status = world.capturing ? 1 : driver::kCaptureNone;
    return world.result("cuStreamIsCapturing");
  };
  api.LibraryLoadData = [](driver::LibraryHandle* library, const void*, int*, void**, unsigned, int*, void**,
                           unsigned) {
    const driver::Result result = world.result("cuLibraryLoadData");
    if (result == driver::kSuccess) ++world.libraries_loaded;
    *library = reinterpret_cast<driver::LibraryHandle>(0x20);
    return result;
  };
  api.LibraryUnload = [](driver::LibraryHandle) {
    --world.libraries_loaded;
    return driver::kSuccess;
  };
  api.LibraryGetKernel = [](driver::KernelHandle* kernel, driver::LibraryHandle, const char* name) {
    world.kernels_taken.insert(name);
    *kernel = reinterpret_cast<driver::KernelHandle>(0x30);
    return world.result("cuLibraryGetKernel");
  };
  api.LaunchKernelEx = [](const driver::LaunchConfig*, driver::KernelHandle, void**, void**) {
    const driver::Result result = world.result("cuLaunchKernelEx");
    if (result == driver::kSuccess) ++world.launches;
    return result;
  };
  return api;
}

cache::Entry sealed(cache::Entry entry) {
  entry.manifest.code_bytes = entry.code.size();
  entry.manifest.code_checksum = cache::xxh3_128(entry.code).hex();
  entry.manifest.source_bytes = entry.source.size();
  entry.manifest.source_checksum = cache::xxh3_128(entry.source).hex();
  return entry;
}

// Never dereferenced: the fake driver launches nothing.
void* address(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);
}

}  // namespace

World world;

cache::Entry fake_entry(const Program& program) {
  cache::Entry entry;
  entry.code = tiny_cubin(program.entry_symbols);
  entry.source = program.source;
  cache::Manifest& m = entry.manifest;
  m.name = program.name;
  m.digest = program.digest.hex();
  m.target = program.target.name;
  m.abi_version = CAKEJIT_KERNEL_ABI;
  m.compiler = "NVRTC 13.0";
  if (program.target.is_portable()) m.code_kind = cache::CodeKind::kLtoIr;
  return sealed(std::move(entry));
}

Effects fake_effects() {
  Effects effects;
  effects.open_driver = [] {
    if (world.fails("open driver")) throw Error(CAKE_STATUS_DRIVER_MISSING, "open driver: injected");
    return std::make_shared<const driver::DriverApi>(fake_driver());
  };
  effects.open_toolchain = [](const Config&) {
    ++world.toolchains_opened;
    if (world.fails("open toolchain")) throw Error(CAKE_STATUS_TOOLCHAIN_MISSING, "open toolchain: injected");
    return std::make_shared<const jit::Toolchain>();
  };
  effects.open_linker = [](const Config&) {
    ++world.linkers_opened;
    if (world.fails("open linker")) throw Error(CAKE_STATUS_TOOLCHAIN_MISSING, "open linker: injected");
    return std::make_shared<const jit::Linker>();
  };
  effects.build = [](const Program& program, const jit::Toolchain&) {
    if (world.fails("build")) throw Error(CAKE_STATUS_COMPILE_FAILED, "build: injected");
    ++world.builds;
    return fake_entry(program);
  };
  effects.finalize = [](const Program& program, const cache::Entry& portable, const jit::Linker&) {
    if (world.fails("finalize")) throw Error(CAKE_STATUS_COMPILE_FAILED, "finalize: injected");
    ++world.finals;
    cache::Entry entry = fake_entry(program);
    entry.manifest.derived_from = portable.manifest.name;
    entry.code = tiny_cubin(kernel_symbols(program, entry.manifest));
    return sealed(std::move(entry));
  };
  return effects;
}

Config memory_only() {
  Config config;
  config.log_level = LogLevel::kOff;
  return config;
}

Problem make_problem(std::int64_t tokens) {
  Problem problem{};
  problem.struct_size = sizeof problem;
  problem.device = CAKE_DEVICE_CUDA;
  problem.tokens = tokens;
  problem.channels = 64;
  problem.documents = 1;
  problem.dtype = problem.weight_dtype = CAKE_DTYPE_BF16;
  problem.weight_grad_dtype = CAKE_DTYPE_FP32;
  problem.cu_seqlens_dtype = CAKE_DTYPE_INT32;
  problem.activation = CAKE_ACTIVATION_SILU;
  problem.x_row_stride = problem.y_row_stride = problem.dy_row_stride = problem.dx_row_stride = 64;
  return problem;
}

void call(Context& context, Pass pass, const Problem& problem) {
  if (pass == Pass::kForward) {
    ForwardArgs args{};
    args.x = address(0x10000000);
    args.weight = address(0x20000000);
    args.cu_seqlens = address(0x30000000);
    args.y = address(0x40000000);
    return context.forward(problem, args, nullptr);
  }
  BackwardArgs args{};
  args.x = address(0x10000000);
  args.weight = address(0x20000000);
  args.cu_seqlens = address(0x30000000);
  args.dy = address(0x50000000);
  args.dx = address(0x60000000);
  args.dweight = address(0x70000000);
  args.workspace = address(0x80000000);
  args.workspace_bytes = backward_workspace_bytes(problem);
  context.backward(problem, args, nullptr);
}

std::optional<Error> error_of(Context& context, Pass pass) {
  try {
    call(context, pass);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

}  // namespace cakejit::test
