// Runs cake-aot as a user does: its exit status, what it prints where, and what it leaves on disk.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cache/store.hpp"
#include "cakejit/error.hpp"
#include "jit/toolchain.hpp"
#include "runtime/base/config.hpp"
#include "runtime/base/log.hpp"
#include "runtime/program.hpp"
#include "runtime/route.hpp"
#include "tools/aot/jobs.hpp"

using namespace cakejit;
namespace fs = std::filesystem;

namespace {

struct Result {
  int status = -1;
  std::string out;
  std::string err;
};

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return std::move(text).str();
}

class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "cakejit-aot-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string out() const { return (path_ / "cache").string(); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

  pid_t start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), CAKEJIT_CAKE_AOT);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const std::string out = (path_ / "stdout").string();
    const std::string err = (path_ / "stderr").string();
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = -1;
    REQUIRE(posix_spawn(&child, CAKEJIT_CAKE_AOT, &actions, nullptr, pointers.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    return child;
  }

  [[nodiscard]] Result finish(pid_t child) const {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return {WEXITSTATUS(status), text_of(path_ / "stdout"), text_of(path_ / "stderr")};
  }

  [[nodiscard]] Result run(std::vector<std::string> arguments) const { return finish(start(std::move(arguments))); }

 private:
  fs::path path_;
};

bool no_toolkit() {
  const Config config = Config::from_environment();
  try {
    (void)jit::open_toolchain({.explicit_path = config.toolkit_path.value_or(""), .hints = config.toolkit_hints});
    return false;
  } catch (const Error& error) {
    WARN("SKIPPED: " << error.what());
    return true;
  }
}

std::size_t entries_in(const std::string& out) {
  return cache::Store(out, cache::Access::kReadOnly, make_logger(LogLevel::kWarn)).list().size();
}

std::vector<std::string> names_in(const Result& result) {
  std::vector<std::string> names;
  const auto json = nlohmann::json::parse(result.out);
  for (const auto& item : json.at("libraries")) names.push_back(item.at("name"));
  return names;
}

}  // namespace

TEST_CASE("help and version go to stdout, with examples and status 0") {
  const Scratch scratch;
  for (const char* command : {"", "build", "plan"}) {
    std::vector<std::string> arguments = {"--help"};
    if (*command != '\0') arguments.insert(arguments.begin(), command);
    const Result help = scratch.run(arguments);
    CHECK(help.status == 0);
    CHECK_THAT(help.out, Catch::Contains("cake-aot build --out") && Catch::Contains("Exit status"));
    CHECK(help.err.empty());
  }
  const Result version = scratch.run({"--version"});
  CHECK(version.status == 0);
  CHECK(version.out == "cake-aot 0.1.0\n");
}

TEST_CASE("wrong usage is told on stderr with the option and what is allowed, and ends in status 2") {
  struct Case {
    std::vector<std::string> arguments;
    std::vector<std::string> says;
  };
  const Scratch scratch;
  const std::string out = scratch.out();
  const std::string broken = scratch.file("broken.json", "[{\"channels\": 8,}]");
  const std::string typo = scratch.file("typo.json", "[{\"channels\": 8, \"dtyp\": \"bf16\"}]");
  const std::string zero = scratch.file("zero.json", "[{\"channels\": 8}, {\"channels\": 0}]");
  const std::string object = scratch.file("object.json", "{}");
  const auto plan = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"plan", "--arch", "sm_90a"});
    return more;
  };
  const Case cases[] = {
      {{}, {"give build or plan"}},
      {{"frobnicate"}, {"frobnicate"}},
      {{"build", "--arch", "sm_90a", "--channels", "8"}, {"--out is required"}},
      {{"build", "--out", out, "--channels", "8"}, {"--arch is required", "sm_90a"}},
      {plan({}), {"--channels, --model-config or --from"}},
      {plan({"--channels", "0"}), {"--channels: \"0\"", "from 1 to 2147483647"}},
      {plan({"--channels=-8"}), {"--channels: \"-8\"", "from 1 to 2147483647"}},
      {plan({"--channels", "8.5"}), {"--channels: \"8.5\""}},
      {plan({"--channels", "8,x"}), {"--channels: \"x\""}},
      {plan({"--channels", "8,,9"}), {"--channels: \"\""}},
      {plan({"--channels", "99999999999999999999"}), {"--channels: \"99999999999999999999\""}},
      {plan({"--channels", "8", "--dtype", "bf16,int8"}), {"--dtype: \"int8\"", "bf16, fp16, fp32"}},
      {plan({"--channels", "8", "--bias", "maybe"}), {"--bias: \"maybe\"", "yes, no, both"}},
      {plan({"--channels", "8", "--pass", "sideways"}), {"--pass: \"sideways\"", "forward, backward"}},
      {plan({"--channels", "8", "--activation", "gelu"}), {"--activation: \"gelu\"", "silu, identity"}},
      {plan({"--channels", "8", "--alignment", "3"}), {"--alignment: \"3\"", "2, 4, 8, 16"}},
      {plan({"--channels", "8", "--tp", "0"}), {"--tp"}},
      {{"plan", "--arch", "sm_90", "--channels", "8"}, {"--arch: unknown GPU target \"sm_90\"", "sm_100a"}},
      {{"build", "--out", out, "--arch", "sm_90a", "--channels", "8", "--jobs", "0"}, {"--jobs"}},
      {plan({"--from", "/nonexistent.json"}), {"/nonexistent.json", "No such file"}},
      {plan({"--from", broken}), {"broken.json", "not valid JSON"}},
      {plan({"--from", typo}), {"typo.json[0]", "\"dtyp\"", "alignment"}},
      {plan({"--from", zero}), {"zero.json[1]", "channels is 0"}},
      {plan({"--from", object}), {"object.json", "must be a list"}},
      {plan({"--model-config", object}), {"object.json", "model_type", "kimi_linear"}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.arguments);
    const Result result = scratch.run(c.arguments);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Catch::StartsWith("cake-aot: error: "));
    for (const std::string& said : c.says) CHECK_THAT(result.err, Catch::Contains(said));
  }
  CHECK_FALSE(fs::exists(out));
}

TEST_CASE("a plan lists each library once, with who asked for it, and touches nothing") {
  const Scratch scratch;
  const std::string list = scratch.file("list.json", R"([{"channels": 4096, "bias": false}])");
  const Result result =
      scratch.run({"plan", "--out", scratch.out(), "--arch", "sm_90a,sm_90a", "--channels", "4096,4096", "--channels",
                   "4096", "--bias", "no", "--from", list, "--alignment", "16,8", "--model-config",
                   CAKEJIT_EXAMPLE_MODELS "/kimi-linear-48b-a3b.json", "--json"});
  REQUIRE(result.status == 0);
  const auto libraries = nlohmann::json::parse(result.out).at("libraries");
  REQUIRE(libraries.size() == 2);
  for (const auto& library : libraries) {
    CHECK(library.at("state") == "missing");
    CHECK(library.at("requested_by").size() == 3);
  }
  CHECK_FALSE(fs::exists(scratch.out()));
}

TEST_CASE("a model's tensor-parallel share is planned, not the whole") {
  const Scratch scratch;
  const Result result = scratch.run({"plan", "--arch", "sm_100a", "--tp", "8", "--pass", "forward", "--json",
                                     "--model-config", CAKEJIT_EXAMPLE_MODELS "/nemotron-h-8b.json"});
  const auto libraries = nlohmann::json::parse(result.out).at("libraries");
  REQUIRE(libraries.size() == 1);
  CHECK(libraries[0].at("specialization").at("channels") == "1280");
  CHECK(libraries[0].at("specialization").at("bias") == "yes");
  CHECK_FALSE(libraries[0].contains("state"));
}

TEST_CASE("a build makes what the plan says; a second one makes nothing; a check agrees") {
  if (no_toolkit()) return;
  const Scratch scratch;
  const std::vector<std::string> request = {"--out", scratch.out(), "--arch", "sm_90a,sm_80", "--channels", "64,7"};
  const auto with = [&](std::vector<std::string> arguments, const std::string& more = "") {
    arguments.insert(arguments.end(), request.begin(), request.end());
    if (!more.empty()) arguments.push_back(more);
    return arguments;
  };
  const Result before = scratch.run(with({"build", "--check"}));
  CHECK(before.status == 1);
  CHECK_THAT(before.out, Catch::Contains("missing"));
  CHECK_THAT(before.err, Catch::StartsWith("cake-aot: error: 16 of 16 libraries missing"));
  CHECK_FALSE(fs::exists(scratch.out()));

  const Result first = scratch.run(with({"build", "--jobs", "2"}));
  CHECK(first.status == 0);
  CHECK_THAT(first.out, Catch::Contains("16 libraries: 16 built") && Catch::Contains("CAKEJIT_AOT_PATH="));
  CHECK(first.err.empty());
  CHECK(entries_in(scratch.out()) == 16);

  const Result second = scratch.run(with({"build"}));
  CHECK(second.status == 0);
  CHECK_THAT(second.out, Catch::StartsWith("nothing to build: all 16 libraries are in "));
  CHECK(scratch.run(with({"build", "--check"})).status == 0);

  const Result plan = scratch.run(with({"plan"}, "--json"));
  const auto planned = nlohmann::json::parse(plan.out);
  for (const auto& item : planned.at("libraries")) CHECK(item.at("state") == "present");
  CHECK(names_in(plan) == names_in(scratch.run(with({"build"}, "--json"))));
}

TEST_CASE("nothing to build needs no toolchain") {
  if (no_toolkit()) return;
  const Scratch scratch;
  const std::vector<std::string> build = {"build", "--out", scratch.out(), "--arch", "sm_80", "--channels", "64"};
  REQUIRE(scratch.run(build).status == 0);
  auto without = build;
  without.insert(without.end(), {"--toolkit", "/nonexistent"});
  CHECK(scratch.run(without).status == 0);
  without.insert(without.end(), {"--channels", "128"});
  const Result result = scratch.run(without);
  CHECK(result.status == 1);
  CHECK_THAT(result.err, Catch::StartsWith("cake-aot: error: no usable CUDA compiler") &&
                             Catch::Contains("/nonexistent: no such folder"));
}

TEST_CASE("builds that can't succeed don't stop the others, and are told together") {
  if (no_toolkit()) return;
  const Scratch scratch;
  // A cache that can't be written fails each build on its own.
  const std::string blocked = scratch.file("blocked", "a file, not a folder");
  const Result result = scratch.run({"build", "--out", blocked, "--arch", "sm_80", "--channels", "64", "--bias", "no"});
  CHECK(result.status == 1);
  CHECK_THAT(result.out, Catch::Contains("0 built") && Catch::Contains("2 failed"));
  CHECK_THAT(result.err, Catch::StartsWith("cake-aot: error: ") && Catch::Contains("blocked") &&
                             Catch::Contains("64 channels, forward") && Catch::Contains("64 channels, backward"));
}

TEST_CASE("an interrupt stops between builds with status 130; the next run goes on from there") {
  if (no_toolkit()) return;
  const Scratch scratch;
  std::string channels = "8";
  for (int i = 2; i <= 40; ++i) channels += fmt::format(",{}", 8 * i);
  const std::vector<std::string> build = {"build",      "--out",  scratch.out(), "--arch", "sm_80",
                                          "--channels", channels, "--jobs",      "2",      "--json"};
  const pid_t child = scratch.start(build);
  // The first entry shows that building has begun.
  for (int tries = 0; tries < 200 && entries_in(scratch.out()) == 0; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  REQUIRE(kill(child, SIGINT) == 0);
  const Result result = scratch.finish(child);
  CHECK(result.status == 130);
  CHECK_THAT(result.err, Catch::Contains("interrupted"));
  const auto report = nlohmann::json::parse(result.out);
  CHECK(report.at("interrupted") == true);
  CHECK(report.at("counts").at("failed") == 0);
  CHECK(report.at("counts").at("missing") > 0);
  CHECK(report.at("counts").at("built") == entries_in(scratch.out()));
  std::vector<cache::Damage> damaged;
  (void)cache::Store(scratch.out(), cache::Access::kReadOnly, make_logger(LogLevel::kWarn)).list(&damaged, true);
  CHECK(damaged.empty());
}

TEST_CASE("a portable library is planned and built once for a family, and becomes code for each of its targets") {
  if (no_toolkit()) return;
  const Scratch scratch;
  const std::vector<std::string> request = {
      "--out",  scratch.out(), "--arch", "sm_90a,sm_100a,sm_80", "--channels", "64",        "--bias", "no",
      "--pass", "backward",    "--json", "--alignment",          "4",          "--portable"};
  const auto with = [&](const std::string& command) {
    std::vector<std::string> arguments = {command};
    arguments.insert(arguments.end(), request.begin(), request.end());
    return arguments;
  };
  const auto planned = nlohmann::json::parse(scratch.run(with("plan")).out).at("libraries");
  REQUIRE(planned.size() == 2);
  CHECK(planned[0].at("target") == "compute_90");
  CHECK(planned[1].at("target") == "compute_80");
  REQUIRE(scratch.run(with("build")).status == 0);

  const cache::Store store(scratch.out(), cache::Access::kReadOnly, make_logger(LogLevel::kWarn));
  const Config config = Config::from_environment();
  const auto linker =
      jit::open_linker({.explicit_path = config.toolkit_path.value_or(""), .hints = config.toolkit_hints});
  for (const char* name : {"sm_80", "sm_86", "sm_90a", "sm_100a"}) {
    CAPTURE(name);
    const runtime::Program program =
        runtime::make_program(runtime::route({.pass = runtime::Pass::kBackward,
                                              .channels = 64,
                                              .dtype = CAKE_DTYPE_BF16,
                                              .has_bias = false,
                                              .activation = CAKE_ACTIVATION_SILU,
                                              .row_alignment = 4},
                                             jit::find_target(name)),
                              jit::find_target(name));
    const auto portable = store.load(runtime::cache_request(runtime::portable_program(program)));
    REQUIRE(portable.has_value());
    CHECK(portable->manifest.code_kind == cache::CodeKind::kLtoIr);
    const cache::Entry entry = runtime::finalize_entry(program, *portable, *linker);
    CHECK(entry.manifest.code_kind == cache::CodeKind::kCubin);
    CHECK(entry.manifest.target == name);
    REQUIRE(entry.manifest.entries.size() == 2);
    for (const cache::EntryFacts& kernel : entry.manifest.entries) {
      CHECK(kernel.registers > 0);
      CHECK(kernel.spill_store_bytes == 0);
    }
    CHECK_NOTHROW(runtime::cache_request(program).check(entry));
  }
}

TEST_CASE("at least one build runs, whatever the machine") {
  CHECK(tools::aot::default_jobs() >= 1);
}
