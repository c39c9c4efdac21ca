// cake-cache as an operator runs it: the built program on caches made here.
#include <sys/wait.h>
#include <catch2/catch.hpp>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tests/cache/samples.hpp"

using namespace cakejit;
using namespace cakejit::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Run {
  int status = -1;
  std::string output;  // stdout and stderr together
};

Run run(const std::string& arguments, const std::string& environment = "") {
  const std::string command = "env " + environment + " " CAKE_CACHE_BINARY " " + arguments + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Run result;
  std::array<char, 4096> block{};
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), pipe))
    result.output.append(block.data(), got);
  const int status = ::pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

struct Fixture {
  TemporaryFolder folder;
  RecordedLog log;
  std::string root = (folder.path() / "cache").string();
  cache::Store store{root, cache::Access::kReadWrite, log.logger};
  cache::Entry one = sample_entry(1);
  cache::Entry two = sample_entry(2);

  Fixture() {
    store.publish(one);
    store.publish(two);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "ls shows every library, for people and for machines") {
  const Run text = run("ls " + root);
  CHECK(text.status == 0);
  for (const char* part : {"NAME", "sm_90a", "4096", "forward", "bf16", "128x4", "NVRTC 13.0", "2 libraries"}) {
    CHECK_THAT(text.output, Catch::Contains(part));
  }
  CHECK_THAT(text.output, Catch::Contains(one.manifest.name) && Catch::Contains(two.manifest.name));
  CHECK(text.output.find('\x1b') == std::string::npos);
  const Run json = run("ls --json " + root);
  REQUIRE(json.status == 0);
  const Json list = Json::parse(json.output);
  REQUIRE(list.size() == 2);
  CHECK(list[0].at("code_bytes") == one.code.size());
  CHECK(fs::exists(list[0].at("path").get<std::string>()));
}

TEST_CASE_METHOD(Fixture, "show takes a unique beginning of a digest, and prints the source on demand") {
  const Run shown = run("show " + one.manifest.digest.substr(0, 8) + " " + root);
  CHECK(shown.status == 0);
  CHECK_THAT(shown.output, Catch::Contains("64 registers") && Catch::Contains("-std=c++20"));
  CHECK(run("show --source " + one.manifest.name + " " + root).output == one.source);
  const Run several = run("show cake_ " + root);
  CHECK(several.status == 1);
  CHECK_THAT(several.output, Catch::Contains("several"));
  const Run none = run("show ffffffffffff " + root);
  CHECK(none.status == 1);
  CHECK_THAT(none.output, Catch::Contains("cake-cache: error: no library"));
}

TEST_CASE_METHOD(Fixture, "verify reads every byte and fails when one is wrong") {
  CHECK(run("verify " + root).status == 0);
  const fs::path code = store.entry_path(two.manifest.name) / "code.cubin";
  std::string bytes = read_file(code);
  bytes[1000] ^= 1;
  write_file(code, bytes);
  const Run damaged = run("verify " + root);
  CHECK(damaged.status == 1);
  CHECK_THAT(damaged.output, Catch::Contains("1 sound, 1 damaged") && Catch::Contains("code.cubin"));
  const Run json = run("verify --json " + root + " 2>/dev/null");
  CHECK(json.status == 1);
  CHECK(run("ls " + root).status == 0);
}

TEST_CASE_METHOD(Fixture, "rm removes one library") {
  CHECK(run("rm " + one.manifest.name + " " + root).status == 0);
  CHECK(store.list().size() == 1);
  CHECK(run("rm " + one.manifest.name + " " + root).status == 1);
}

TEST_CASE_METHOD(Fixture, "path shows the layers that the environment gives") {
  const Run shown = run("path --json", "CAKEJIT_AOT_PATH=" + root + ":/nowhere CAKEJIT_CACHE_DIR=" + root);
  REQUIRE(shown.status == 0);
  const Json layers = Json::parse(shown.output);
  REQUIRE(layers.size() == 3);
  CHECK(layers[0].at("kind") == "read-only");
  CHECK(layers[0].at("exists") == true);
  CHECK(layers[1].at("exists") == false);
  CHECK(layers[2].at("kind") == "writable");
  CHECK(layers[2].at("can_write") == true);
  CHECK_THAT(run("ls", "CAKEJIT_AOT_PATH= CAKEJIT_CACHE_DIR=" + root).output, Catch::Contains("2 libraries"));
}

TEST_CASE("wrong usage is status 2, a folder that is not there status 1, help and version 0") {
  CHECK(run("").status == 2);
  CHECK(run("frob").status == 2);
  CHECK(run("show").status == 2);
  CHECK(run("ls --frob").status == 2);
  const Run absent = run("ls /nowhere/at/all");
  CHECK(absent.status == 1);
  CHECK_THAT(absent.output, Catch::Contains("cake-cache: error: /nowhere/at/all"));
  CHECK(run("--help").status == 0);
  CHECK_THAT(run("--help").output, Catch::Contains("Examples:"));
  CHECK_THAT(run("--version").output, Catch::StartsWith("cake-cache "));
  CHECK(run("ls", "CAKEJIT_JIT=maybe").status == 1);
}
