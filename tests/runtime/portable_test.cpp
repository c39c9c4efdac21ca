// A portable library in a cache layer: it is linked where it runs, by nvJitLink alone, and the result is kept.
#include <spdlog/sinks/null_sink.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "tests/runtime/fake_world.hpp"
#include "tests/support/tiny_cubin.hpp"

using namespace cakejit;
using namespace cakejit::runtime;
using namespace cakejit::test;
namespace fs = std::filesystem;

namespace {

class Folders {
 public:
  Folders() {
    std::string name = (fs::temp_directory_path() / "cakejit-portable-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folders() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folders(const Folders&) = delete;
  Folders& operator=(const Folders&) = delete;

  [[nodiscard]] cache::Store aot() const { return store("aot"); }
  [[nodiscard]] cache::Store writable() const { return store("cache"); }

  // An AOT layer and a writable one.
  [[nodiscard]] Config config() const {
    Config config = memory_only();
    config.aot_path = {path_ / "aot"};
    config.cache_dir = path_ / "cache";
    return config;
  }

 private:
  [[nodiscard]] cache::Store store(const std::string& name) const {
    return {path_ / name, cache::Access::kReadWrite,
            std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>())};
  }

  fs::path path_;
};

// The program that call() needs.
Program needed_program(Pass pass) {
  const jit::Target& target = jit::find_target("sm_90a");
  return make_program(route({.pass = pass,
                             .channels = 64,
                             .dtype = CAKE_DTYPE_BF16,
                             .has_bias = false,
                             .activation = CAKE_ACTIVATION_SILU,
                             .row_alignment = 16},
                            target),
                      target);
}

}  // namespace

TEST_CASE("a portable library is linked without a compiler, once, and the result serves the next process alone") {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    CAPTURE(pass == Pass::kForward);
    const Folders folders;
    const Program program = needed_program(pass);
    const Program portable = portable_program(program);
    folders.aot().publish(fake_entry(portable));
    world = World{};
    {
      Context context(folders.config(), fake_effects());
      call(context, pass);
      CHECK(world.finals == 1);
      CHECK(world.linkers_opened == 1);
      CHECK(world.builds == 0);
      CHECK(world.toolchains_opened == 0);
      CHECK(world.kernels_taken == std::set(portable.entry_symbols.begin(), portable.entry_symbols.end()));
    }
    const auto kept = folders.writable().list();
    REQUIRE(kept.size() == 1);
    CHECK(kept[0].name == program.name);
    CHECK(kept[0].target == "sm_90a");
    CHECK(kept[0].derived_from == portable.name);

    Context next(folders.config(), fake_effects());
    call(next, pass);
    CHECK(world.finals == 1);
    CHECK(world.linkers_opened == 1);
    CHECK(next.statistics().disk_hits == 1);
  }
}

TEST_CASE("where a portable library can't be linked, the kernel is compiled instead") {
  for (const char* step : {"open linker", "finalize"}) {
    CAPTURE(step);
    const Folders folders;
    folders.aot().publish(fake_entry(portable_program(needed_program(Pass::kForward))));
    world = World{};
    world.failing_step = step;
    Context context(folders.config(), fake_effects());
    call(context, Pass::kForward);
    CHECK(world.builds == 1);
    CHECK(folders.writable().list().at(0).derived_from.empty());
  }
}

TEST_CASE("CAKEJIT_JIT=off forbids to link a portable library, too") {
  const Folders folders;
  folders.aot().publish(fake_entry(portable_program(needed_program(Pass::kForward))));
  world = World{};
  Config config = folders.config();
  config.jit = JitMode::kOff;
  Context context(config, fake_effects());
  const auto error = error_of(context, Pass::kForward);
  REQUIRE(error.has_value());
  CHECK(error->status() == CAKE_STATUS_JIT_DISABLED);
  CHECK(world.linkers_opened == 0);
}

TEST_CASE("an exact entry is preferred to a portable one") {
  const Folders folders;
  const Program program = needed_program(Pass::kForward);
  folders.aot().publish(fake_entry(portable_program(program)));
  folders.writable().publish(fake_entry(program));
  world = World{};
  Context context(folders.config(), fake_effects());
  call(context, Pass::kForward);
  CHECK(world.finals == 0);
  CHECK(world.builds == 0);
}

TEST_CASE("an entry whose code lacks the program's kernels is set aside and built anew, before the driver sees it") {
  const Folders folders;
  const Program program = needed_program(Pass::kBackward);
  cache::Entry lying = fake_entry(program);
  lying.code = tiny_cubin({program.entry_symbols[0], "another_reduce"});
  lying.manifest.code_bytes = lying.code.size();
  lying.manifest.code_checksum = cache::xxh3_128(lying.code).hex();
  folders.writable().publish(lying);
  world = World{};
  Context context(folders.config(), fake_effects());
  call(context, Pass::kBackward);
  CHECK(world.builds == 1);
  CHECK(context.statistics().disk_hits == 0);
  const auto kept = folders.writable().read(program.name);
  REQUIRE(kept.has_value());
  CHECK((kept->code == tiny_cubin(program.entry_symbols)));
}

TEST_CASE("an entry that says it was linked from another library is no answer") {
  const Folders folders;
  const Program program = needed_program(Pass::kForward);
  cache::Entry lying = fake_entry(program);
  lying.manifest.derived_from = portable_program(needed_program(Pass::kBackward)).name;
  folders.writable().publish(lying);
  world = World{};
  Context context(folders.config(), fake_effects());
  call(context, Pass::kForward);
  CHECK(world.builds == 1);
}
