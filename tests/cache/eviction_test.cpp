#include "cache/eviction.hpp"

#include <sys/stat.h>
#include <catch2/catch.hpp>

#include <chrono>
#include <set>
#include <thread>

#include "cache/lock_keys.hpp"
#include "cache/temporary.hpp"
#include "tests/cache/intercepted_file_system.hpp"
#include "tests/cache/samples.hpp"
#include "tests/support/child.hpp"

using namespace cakejit;
using namespace cakejit::cache;
using namespace cakejit::test;
namespace fs = std::filesystem;

namespace {

struct Fixture {
  TemporaryFolder folder;
  RecordedLog log;
  fs::path root = folder.path() / "cache";

  [[nodiscard]] Store store(const Caps& caps = {}) const {
    return {root, Access::kReadWrite, log.logger, real_file_system(), {.sharing = Sharing::kPrivate, .caps = caps}};
  }

  // As if the entry's files had been written, and its last use made, so long ago.
  void age(const Store& in, const Entry& entry, std::chrono::seconds seconds) const {
    for (const auto& file : fs::directory_iterator(in.entry_path(entry.manifest.name))) {
      fs::last_write_time(file.path(), fs::file_time_type::clock::now() - seconds);
    }
  }

  [[nodiscard]] static std::set<std::string> names(const Store& in) {
    std::set<std::string> all;
    for (const Manifest& m : in.list()) all.insert(m.name);
    return all;
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "usage tells size, uses and the order of last uses") {
  const Store s = store();
  for (int seed = 0; seed < 3; ++seed) {
    s.publish(sample_entry(seed));
    age(s, sample_entry(seed), std::chrono::seconds(1000 - seed));
  }
  for (int i = 0; i < 5; ++i) CHECK(s.load(request_for(sample_entry(0))).has_value());
  const auto all = usage(*s.files(), s.layout());
  REQUIRE(all.size() == 3);
  CHECK(all[0].name == sample_entry(1).manifest.name);
  CHECK(all[1].name == sample_entry(2).manifest.name);
  CHECK(all[2].name == sample_entry(0).manifest.name);
  CHECK(all[2].uses == 5);
  CHECK(all[0].uses == 0);
  const Entry entry = sample_entry(1);
  CHECK(all[0].bytes == entry.code.size() + entry.source.size() + seal_manifest(to_json(entry.manifest)).size());
}

TEST_CASE_METHOD(Fixture, "a read-only layer notes no use") {
  store().publish(sample_entry());
  const Store reader(root, Access::kReadOnly, log.logger);
  CHECK(reader.load(request_for(sample_entry())).has_value());
  CHECK_FALSE(fs::exists(reader.entry_path(sample_entry().manifest.name) / "uses"));
}

TEST_CASE_METHOD(Fixture, "above a cap the least recently used entries go, until a tenth below") {
  const bool by_bytes = GENERATE(true, false);
  const std::uint64_t one = entry_usage(*real_file_system(), [&] {
                              store().publish(sample_entry(1000));
                              return store().layout();
                            }(), sample_entry(1000).manifest.name)
                                .bytes;
  CHECK(store().remove(sample_entry(1000).manifest.name));
  const Store s = store(by_bytes ? Caps{.bytes = 10 * one + one / 2, .entries = 0} : Caps{.bytes = 0, .entries = 10});
  for (int seed = 0; seed < 10; ++seed) {
    s.publish(sample_entry(seed));
    age(s, sample_entry(seed), std::chrono::seconds(1000 - seed));
  }
  CHECK(names(s).size() == 10);
  CHECK(s.load(request_for(sample_entry(0))).has_value());  // now the youngest but one
  s.publish(sample_entry(10));
  std::set<std::string> expected;
  for (const int seed : {0, 3, 4, 5, 6, 7, 8, 9, 10}) expected.insert(sample_entry(seed).manifest.name);
  CHECK(names(s) == expected);
  const Counters counters = s.counters().read();
  CHECK(counters.evictions == 2);
  CHECK(counters.entries == 9);
  CHECK(static_cast<std::uint64_t>(counters.bytes) == totals(usage(*s.files(), s.layout())).bytes);
  CHECK(fs::is_empty(root / "v1" / "tmp"));
}

TEST_CASE_METHOD(Fixture, "an entry larger than the cap is served to its builder and does not stay") {
  const Store s = store({.bytes = 100, .entries = 0});
  s.publish(sample_entry());
  CHECK(names(s).empty());
}

TEST_CASE_METHOD(Fixture, "without caps nothing is ever evicted") {
  const Store s = store();
  for (int seed = 0; seed < 40; ++seed) s.publish(sample_entry(seed));
  CHECK(names(s).size() == 40);
}

TEST_CASE_METHOD(Fixture, "an entry that is evicted while a process loads it is loaded whole") {
  const Entry entry = sample_entry();
  store().publish(entry);
  // The reader is stopped before each of its reads in turn, the entry evicted meanwhile.
  for (int stop_at = 1; stop_at <= 2; ++stop_at) {
    store().publish(entry);
    age(store(), entry, std::chrono::hours(3));
    int reads = 0;
    const auto files = std::make_shared<InterceptedFileSystem>([&](std::string_view operation, const Path&) {
      if (operation != "read" || ++reads != stop_at) return;
      CHECK(evict(store(), {.bytes = 1, .entries = 0}).names.size() == 1);
      store().sweep();
    });
    const Store reader(root, Access::kReadWrite, log.logger, files);
    const auto loaded = reader.load(request_for(entry));
    CAPTURE(stop_at);
    REQUIRE(loaded.has_value());
    CHECK(loaded->code == entry.code);
    CHECK(names(store()).empty());
  }
  CHECK(log.lines() == 0);
  // Its files go a minute later.
  const fs::path temporaries = root / "v1" / "tmp";
  CHECK_FALSE(fs::is_empty(temporaries));
  sweep_temporaries(*real_file_system(), store().layout(), now_unix_s() + 61);
  CHECK(fs::is_empty(temporaries));
}

TEST_CASE_METHOD(Fixture, "readers beside an evicting writer see whole entries or none") {
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      const Store s = store({.bytes = 0, .entries = 5});
      int wrong = 0;
      for (int round = 0; round < 150; ++round) {
        const Entry entry = sample_entry((round * 7 + p * 3) % 12);
        if (const auto loaded = s.load(request_for(entry))) {
          wrong += loaded->code == entry.code ? 0 : 1;
        } else {
          s.publish(entry);
        }
      }
      ::_exit(wrong);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK_FALSE(fs::exists(root / "v1" / "quarantine"));
  std::vector<Damage> damaged;
  CHECK(store().list(&damaged, true).size() <= 12);
  CHECK(damaged.empty());
  CHECK(store().counters().read().evictions > 0);
}

TEST_CASE_METHOD(Fixture, "one process evicts at a time; the second leaves it to the first") {
  const Store s = store();
  for (int seed = 0; seed < 4; ++seed) s.publish(sample_entry(seed));
  const auto held = real_file_system()->try_lock(s.layout().locks(), kEvictionKey, 0600);
  CHECK(evict(s, {.bytes = 0, .entries = 1}).names.empty());
  CHECK(names(s).size() == 4);
}

TEST_CASE_METHOD(Fixture, "a hit looks at its own entry alone, however many there are") {
  const Store s = store({.bytes = 0, .entries = 1000});
  for (int seed = 0; seed < 200; ++seed) s.publish(sample_entry(seed));
  const Entry entry = sample_entry(7);
  int listed = 0;
  int others = 0;
  const auto files = std::make_shared<InterceptedFileSystem>([&](std::string_view operation, const Path& path) {
    listed += operation == "list" ? 1 : 0;
    others += path.string().find("cake_causal") != std::string::npos &&
                      path.string().find(entry.manifest.name) == std::string::npos
                  ? 1
                  : 0;
  });
  const Store counted(root, Access::kReadWrite, log.logger, files, {.sharing = Sharing::kPrivate, .caps = {0, 1000}});
  CHECK(counted.load(request_for(entry)).has_value());
  CHECK(listed == 0);
  CHECK(others == 0);
}
