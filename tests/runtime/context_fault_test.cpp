// Each set-up step of a first call fails in turn, through an injected driver, toolchain and builder: the caller sees
// the original error, the host cache is as it was, nothing stays loaded, and the next call works once the cause is
// gone.
#include <catch2/catch.hpp>

#include "tests/runtime/fake_world.hpp"

using namespace cakejit;
using namespace cakejit::runtime;
using namespace cakejit::test;

namespace {

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

TEST_CASE("prepare takes the strides from the problem: the call that follows is a hit, whatever they are") {
  for (const std::int64_t stride : {64, 65, 66, 68}) {
    CAPTURE(stride);
    Problem problem = make_problem();
    problem.x_row_stride = stride;
    problem.dx_row_stride = 64 + (stride - 64) * 2;
    world = World{};
    Context context(memory_only(), fake_effects());
    context.prepare(problem, CAKE_PASS_FORWARD | CAKE_PASS_BACKWARD, 0);
    world.capturing = true;
    CHECK_NOTHROW(call(context, Pass::kForward, problem));
    CHECK_NOTHROW(call(context, Pass::kBackward, problem));
    CHECK(context.statistics().plan_hits == 2);
    CHECK(context.statistics().plan_misses == 2);
  }
}

TEST_CASE("a forward without tokens needs no kernels; a backward does, to write its zeros") {
  world = World{};
  Context context(memory_only(), fake_effects());
  context.prepare(make_problem(0), CAKE_PASS_FORWARD, 0);
  call(context, Pass::kForward, make_problem(0));
  CHECK(world.builds == 0);
  CHECK(world.launches == 0);
  call(context, Pass::kBackward, make_problem(0));
  CHECK(world.builds == 1);
  CHECK(world.launches == 1);
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
