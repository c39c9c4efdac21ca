#include "cache/counters.hpp"

#include <sys/wait.h>
#include <catch2/catch.hpp>

#include "cakejit/error.hpp"
#include "tests/cache/intercepted_file_system.hpp"
#include "tests/cache/samples.hpp"

using namespace cakejit;
using namespace cakejit::cache;
using namespace cakejit::test;
namespace fs = std::filesystem;

namespace {

struct Fixture {
  TemporaryFolder folder;
  RecordedLog log;
  Layout layout{folder.path()};
  CounterFile counters{real_file_system(), layout, log.logger};
  Fixture() { fs::create_directories(layout.version()); }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "counts add up over processes, none is lost") {
  std::vector<pid_t> children;
  for (int p = 0; p < 8; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int i = 0; i < 100; ++i) counters.add({.hits = 1, .bytes = 1000});
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  CHECK(counters.read() == Counters{.hits = 800, .bytes = 800'000});
}

TEST_CASE_METHOD(Fixture, "counters never go below zero, and what makes no sense counts as zero") {
  CHECK(counters.read() == Counters{});
  CHECK(counters.add({.entries = -3}) == Counters{});
  counters.write({.hits = 1, .misses = 2, .builds = 3, .evictions = 4, .damaged = 5, .entries = 6, .bytes = 7});
  CHECK(counters.read() == Counters{1, 2, 3, 4, 5, 6, 7});
  for (const std::string& text : {std::string("rubbish"), std::string(3000, '\0'), std::string(100'000, '9'),
                                  std::string("hits      99999999999999999999999\n"), std::string("hits      -5\n")}) {
    write_file(layout.counters(), text);
    CHECK(counters.read() == Counters{});
    CHECK(counters.add({.hits = 2}).hits == 2);
  }
  write_file(layout.counters(), "hits         9223372036854775807\n");
  CHECK(counters.add({.hits = 2}).hits > 0);
}

TEST_CASE_METHOD(Fixture, "where nothing can be counted, nothing fails") {
  for (const char* broken : {"try_lock", "read", "overwrite"}) {
    const auto files = std::make_shared<InterceptedFileSystem>([&](std::string_view operation, const Path&) {
      if (operation == broken) throw Error(CAKE_STATUS_CACHE, "injected");
    });
    CHECK_NOTHROW(CounterFile(files, layout, log.logger).add({.hits = 1}));
  }
  const auto lockless = std::make_shared<InterceptedFileSystem>([&](std::string_view operation, const Path&) {
    if (operation == "try_lock") throw LocksUnsupported(CAKE_STATUS_CACHE, "no locks here");
  });
  CHECK(CounterFile(lockless, layout, log.logger).add({.hits = 1}).hits >= 1);
  const CounterFile nowhere(real_file_system(), Layout{folder.path() / "absent"}, log.logger);
  nowhere.add({.hits = 1});
  CHECK_FALSE(fs::exists(folder.path() / "absent"));
}
