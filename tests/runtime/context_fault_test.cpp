// Each set-up step of a first call fails in turn, through an injected driver, toolchain and builder: the caller sees
// the original error, the host cache is as it was, nothing stays loaded, and the next call works once the cause is
// gone.
#include <catch2/catch.hpp>

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "cakejit/error.hpp"
#include "runtime/context.hpp"

using namespace cakejit;
using namespace cakejit::runtime;

namespace {

constexpr driver::Result kFakeError = 999;

// The world outside, as one test sees it. The driver's functions are plain pointers, so their state is static.
struct World {
  std::string failing_step;  // "" when all is well
  int failing_call = 1;      // which call of that step fails
  int calls_of_failing_step = 0;
  int libraries_loaded = 0;  // loads minus unloads
  int launches = 0;
  int builds = 0;
  bool capturing = false;

  [[nodiscard]] bool fails(const std::string& step) {
    return step == failing_step && ++calls_of_failing_step == failing_call;
  }
  driver::Result result(const std::string& step) { return fails(step) ? kFakeError : driver::kSuccess; }
};

World world;

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
  api.LibraryGetKernel = [](driver::KernelHandle* kernel, driver::LibraryHandle, const char*) {
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

cache::Entry fake_entry(const Program& program) {
  cache::Entry entry;
  entry.code = "code";
  entry.source = program.source;
  cache::Manifest& m = entry.manifest;
  m.name = program.name;
  m.digest = program.digest.hex();
  m.target = program.target.name;
  m.abi_version = CAKEJIT_KERNEL_ABI;
  m.code_bytes = entry.code.size();
  m.code_checksum = cache::xxh3_128(entry.code).hex();
  m.source_bytes = entry.source.size();
  m.source_checksum = cache::xxh3_128(entry.source).hex();
  m.compiler = "NVRTC 13.0";
  return entry;
}

Effects fake_effects() {
  Effects effects;
  effects.open_driver = [] {
    if (world.fails("open driver")) throw Error(CAKE_STATUS_DRIVER_MISSING, "open driver: injected");
    return std::make_shared<const driver::DriverApi>(fake_driver());
  };
  effects.open_toolchain = [](const Config&) {
    if (world.fails("open toolchain")) throw Error(CAKE_STATUS_TOOLCHAIN_MISSING, "open toolchain: injected");
    return std::make_shared<const jit::Toolchain>();
  };
  effects.build = [](const Program& program, const jit::Toolchain&) {
    if (world.fails("build")) throw Error(CAKE_STATUS_COMPILE_FAILED, "build: injected");
    ++world.builds;
    return fake_entry(program);
  };
  return effects;
}

Config memory_only() {
  Config config;
  config.log_level = LogLevel::kOff;
  return config;
}

Problem make_problem(std::int64_t tokens = 600) {
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

// Never dereferenced: the fake driver launches nothing.
void* address(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);
}

void call(Context& context, Pass pass, const Problem& problem = make_problem()) {
  if (pass == Pass::kForward) {
    ForwardArgs args{};
    args.x = address(0x10000);
    args.weight = address(0x20000);
    args.cu_seqlens = address(0x30000);
    args.y = address(0x40000);
    return context.forward(problem, args, nullptr);
  }
  BackwardArgs args{};
  args.x = address(0x10000);
  args.weight = address(0x20000);
  args.cu_seqlens = address(0x30000);
  args.dy = address(0x50000);
  args.dx = address(0x60000);
  args.dweight = address(0x70000);
  args.workspace = address(0x80000);
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

struct Step {
  const char* name;
  int call;
  cake_status status;
  bool backward_only = false;
};

// In the order in which a first call takes them.
const Step kSteps[] = {
    {"open driver", 1, CAKE_STATUS_DRIVER_MISSING},  {"cuCtxGetCurrent", 1, CAKE_STATUS_DRIVER},
    {"cuCtxGetId", 1, CAKE_STATUS_DRIVER},           {"cuCtxGetDevice", 1, CAKE_STATUS_DRIVER},
    {"cuDeviceGetAttribute", 1, CAKE_STATUS_DRIVER}, {"cuDeviceGetAttribute", 2, CAKE_STATUS_DRIVER},
    {"cuStreamIsCapturing", 1, CAKE_STATUS_DRIVER},  {"open toolchain", 1, CAKE_STATUS_TOOLCHAIN_MISSING},
    {"build", 1, CAKE_STATUS_COMPILE_FAILED},        {"cuLibraryLoadData", 1, CAKE_STATUS_DRIVER},
    {"cuLibraryGetKernel", 1, CAKE_STATUS_DRIVER},   {"cuLibraryGetKernel", 2, CAKE_STATUS_DRIVER, true}};

}  // namespace

TEST_CASE("whichever set-up step fails, the error is the original one, nothing is kept, and the next call works") {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (const Step& step : kSteps) {
      if (step.backward_only && pass == Pass::kForward) continue;
      CAPTURE(step.name, step.call, pass == Pass::kForward);
      world = World{};
      Context context(memory_only(), fake_effects());
      world.failing_step = step.name;
      world.failing_call = step.call;

      const auto error = error_of(context, pass);
      REQUIRE(error.has_value());
      CHECK(error->status() == step.status);
      CHECK_THAT(error->what(), Catch::Contains(step.name) && Catch::Contains("injected"));
      CHECK(context.statistics().plan_entries == 0);
      CHECK(context.statistics().plan_misses == 0);
      CHECK(context.statistics().libraries_loaded == 0);
      CHECK(world.libraries_loaded == 0);
      CHECK(world.launches == 0);

      world.failing_step.clear();
      CHECK_FALSE(error_of(context, pass).has_value());
      CHECK(context.statistics().plan_entries == 1);
      CHECK(context.statistics().libraries_loaded == 1);
      CHECK(world.launches == (pass == Pass::kForward ? 1 : 2));
    }
  }
}

TEST_CASE("a step that fails leaves the plans of other problems in place") {
  world = World{};
  Context context(memory_only(), fake_effects());
  call(context, Pass::kForward);
  world.failing_step = "cuLibraryLoadData";
  CHECK(error_of(context, Pass::kBackward).has_value());
  CHECK(context.statistics().plan_entries == 1);
  world.failing_step = "cuCtxGetDevice";  // the hot path takes no set-up step at all
  CHECK_FALSE(error_of(context, Pass::kForward).has_value());
  CHECK(context.statistics().plan_hits == 1);
}

TEST_CASE("a launch that fails is reported as such and the plan stays usable") {
  world = World{};
  Context context(memory_only(), fake_effects());
  world.failing_step = "cuLaunchKernelEx";
  const auto error = error_of(context, Pass::kForward);
  REQUIRE(error.has_value());
  CHECK_THAT(error->what(), Catch::Contains("cuLaunchKernelEx"));
  CHECK(world.libraries_loaded == 1);
  world.failing_step.clear();
  CHECK_FALSE(error_of(context, Pass::kForward).has_value());
  CHECK(context.statistics().plan_hits == 1);
}

TEST_CASE("a new length builds a plan but no library") {
  world = World{};
  Context context(memory_only(), fake_effects());
  for (const std::int64_t tokens : {600, 601, 1200}) call(context, Pass::kForward, make_problem(tokens));
  CHECK(world.builds == 1);
  CHECK(world.libraries_loaded == 1);
  CHECK(context.statistics().plan_entries == 3);
}

TEST_CASE("a first call during capture is refused before the toolchain is opened; a new length is not") {
  world = World{};
  Context context(memory_only(), fake_effects());
  world.capturing = true;
  world.failing_step = "open toolchain";
  const auto error = error_of(context, Pass::kForward);
  REQUIRE(error.has_value());
  CHECK(error->status() == CAKE_STATUS_CAPTURE);
  CHECK(world.calls_of_failing_step == 0);
  world = World{};
  context.prepare(make_problem(), CAKE_PASS_FORWARD, 0);
  world.capturing = true;
  CHECK_NOTHROW(call(context, Pass::kForward));
  CHECK_NOTHROW(call(context, Pass::kForward, make_problem(1234)));
}

TEST_CASE("with the JIT off, a miss is an error that names the command which would build the library") {
  world = World{};
  Config config = memory_only();
  config.jit = JitMode::kOff;
  Context context(config, fake_effects());
  const auto error = error_of(context, Pass::kForward);
  REQUIRE(error.has_value());
  CHECK(error->status() == CAKE_STATUS_JIT_DISABLED);
  CHECK_THAT(error->what(),
             Catch::Contains("cake-aot build --out DIR --arch sm_90a --channels 64 --dtype bf16 --bias no "
                             "--activation silu --pass forward --alignment 8"));
  CHECK(world.builds == 0);
}

TEST_CASE("a cache folder that can't be written costs a warning, not the call") {
  world = World{};
  Config config = memory_only();
  config.cache_dir = "/dev/null/cache";
  Context context(config, fake_effects());
  CHECK_FALSE(error_of(context, Pass::kForward).has_value());
  CHECK(context.statistics().libraries_built == 1);
}

TEST_CASE("unloading happens with the context") {
  world = World{};
  {
    Context context(memory_only(), fake_effects());
    call(context, Pass::kForward);
    call(context, Pass::kBackward);
    CHECK(world.libraries_loaded == 2);
  }
  CHECK(world.libraries_loaded == 0);
}
