#include "cache/single_flight.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <atomic>
#include <set>
#include <csignal>
#include <thread>

#include "cache/eviction.hpp"
#include "cache/lock_keys.hpp"
#include "cakejit/error.hpp"
#include "tests/cache/intercepted_file_system.hpp"
#include "tests/cache/samples.hpp"
#include "tests/support/child.hpp"

using namespace cakejit;
using namespace cakejit::cache;
using namespace cakejit::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const Acceptable kAny = [](const Manifest&) { return true; };

std::shared_ptr<FileSystem> without_locks() {
  return std::make_shared<InterceptedFileSystem>([](std::string_view operation, const Path&) {
    if (operation == "try_lock") throw LocksUnsupported(CAKE_STATUS_CACHE, "no locks here");
  });
}

struct Fixture {
  TemporaryFolder folder;
  RecordedLog log;
  fs::path root = folder.path() / "cache";
  fs::path build_log = folder.path() / "builds";
  LockTiming timing{.poll = 2ms, .announce = 100ms, .give_up = 60s, .heartbeat = 20ms, .presumed_dead = 300ms};

  // Leaves a line per build, whichever process builds.
  Producer slow_build(const Entry& entry, std::chrono::milliseconds duration) {
    return [this, entry, duration] {
      real_file_system();
      const int file = ::open(build_log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      const std::string line = entry.manifest.name + "\n";
      if (::write(file, line.data(), line.size()) < 0) std::abort();
      ::close(file);
      std::this_thread::sleep_for(duration);
      return entry;
    };
  }

  [[nodiscard]] std::multiset<std::string> builds() const {
    std::ifstream file(build_log);
    std::multiset<std::string> names;
    for (std::string line; std::getline(file, line);) names.insert(line);
    return names;
  }
};

int exit_status(pid_t child) {
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "64 processes that start cold on one directory build each library once") {
  const bool locks = GENERATE(true, false);
  CAPTURE(locks);
  const auto files = locks ? real_file_system() : without_locks();
  constexpr int kProcesses = 64;
  constexpr int kLibraries = 4;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      const Store store(root, Access::kReadWrite, log.logger, files);
      int wrong = 0;
      for (int i = 0; i < kLibraries; ++i) {
        const Entry entry = sample_entry((i + p) % kLibraries);
        const Flight flight =
            load_or_build(store, request_for(entry), slow_build(entry, 60ms), kAny, log.logger, timing);
        wrong += flight.entry.code == entry.code && !flight.not_kept ? 0 : 1;
      }
      ::_exit(wrong);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) CHECK(exit_status(child) == 0);
  const auto built = builds();
  CHECK(built.size() == kLibraries);
  for (const std::string& name : built) CHECK(built.count(name) == 1);
  const Store store(root, Access::kReadWrite, log.logger, files);
  CHECK(store.list(nullptr, true).size() == kLibraries);
  if (!locks) return;  // then counts may be lost
  const Counters counters = store.counters().read();
  CHECK(counters.builds == kLibraries);
  CHECK(counters.misses == kLibraries);
  CHECK(counters.hits == kProcesses * kLibraries - kLibraries);
  CHECK(counters.entries == kLibraries);
}

TEST_CASE_METHOD(Fixture, "threads of one process build a library once, and different libraries side by side") {
  const Store store(root, Access::kReadWrite, log.logger);
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  std::atomic<int> built{0};
  const auto run = [&](int seed) {
    const Entry entry = sample_entry(seed);
    const Producer producer = [&] {
      ++built;
      most = std::max(most.load(), ++now);
      std::this_thread::sleep_for(100ms);
      --now;
      return entry;
    };
    (void)load_or_build(store, request_for(entry), producer, kAny, log.logger, timing);
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 12; ++i) threads.emplace_back(run, i % 2);
  }
  CHECK(built == 2);
  CHECK(most == 2);
}

TEST_CASE_METHOD(Fixture, "a builder that is killed is taken over from at once, and its waiters say on whom they waited") {
  const bool locks = GENERATE(true, false);
  CAPTURE(locks);
  const Store store(root, Access::kReadWrite, log.logger, locks ? real_file_system() : without_locks());
  const Entry entry = sample_entry();
  const pid_t holder = ::fork();
  if (holder == 0) {
    (void)load_or_build(store, request_for(entry), slow_build(entry, 100s), kAny, log.logger, timing);
    ::_exit(1);
  }
  while (builds().empty()) std::this_thread::sleep_for(1ms);
  std::jthread killer([&] {
    std::this_thread::sleep_for(400ms);
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
  });
  const auto begin = std::chrono::steady_clock::now();
  const Flight flight = load_or_build(store, request_for(entry), slow_build(entry, 0ms), kAny, log.logger, timing);
  CHECK(flight.was_built);
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
  CHECK(store.list(nullptr, true).size() == 1);
  CHECK_THAT(log.text.str(), Catch::Contains("waiting for process " + std::to_string(holder) + " on ") &&
                                 Catch::Contains(entry.manifest.name) &&
                                 Catch::Contains(locks ? "byte-range locks" : "heartbeat files"));
}

TEST_CASE_METHOD(Fixture, "a waiter takes an entry as soon as it is there, though the lock is still held") {
  const Store store(root, Access::kReadWrite, log.logger);
  const Entry entry = sample_entry();
  fs::create_directories(root / "v1");
  const auto held = store.files()->try_lock(store.layout().locks(), library_key(entry.manifest.name), 0600);
  REQUIRE(held);
  std::jthread publisher([&] {
    std::this_thread::sleep_for(50ms);
    store.publish(entry);
  });
  const Flight flight = load_or_build(
      store, request_for(entry), []() -> Entry { throw Error(CAKE_STATUS_INTERNAL, "built"); }, kAny, log.logger, timing);
  CHECK_FALSE(flight.was_built);
}

TEST_CASE_METHOD(Fixture, "a waiter does not wait for ever on a builder that hangs") {
  const Store store(root, Access::kReadWrite, log.logger);
  const Entry entry = sample_entry();
  fs::create_directories(root / "v1");
  const auto held = store.files()->try_lock(store.layout().locks(), library_key(entry.manifest.name), 0600);
  timing.give_up = 150ms;
  const Flight flight = load_or_build(store, request_for(entry), slow_build(entry, 0ms), kAny, log.logger, timing);
  CHECK(flight.was_built);
  CHECK_FALSE(flight.not_kept.has_value());
  CHECK_THAT(log.text.str(), Catch::Contains("building it here too"));
}

TEST_CASE_METHOD(Fixture, "a hit opens no lock for building and waits for nobody, also while another builds") {
  const Entry entry = sample_entry();
  Store(root, Access::kReadWrite, log.logger).publish(entry);
  const auto held = real_file_system()->try_lock(root / "v1" / "lock", library_key(entry.manifest.name), 0600);
  REQUIRE(held);
  const Store store(root, Access::kReadWrite, log.logger);
  const Flight flight = load_or_build(
      store, request_for(entry), []() -> Entry { throw Error(CAKE_STATUS_INTERNAL, "built"); }, kAny, log.logger, timing);
  CHECK_FALSE(flight.was_built);
}

TEST_CASE_METHOD(Fixture, "a producer that throws releases the lock, and its error is the caller's") {
  const bool locks = GENERATE(true, false);
  const Store store(root, Access::kReadWrite, log.logger, locks ? real_file_system() : without_locks());
  const Entry entry = sample_entry();
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH(load_or_build(
                          store, request_for(entry),
                          []() -> Entry { throw Error(CAKE_STATUS_COMPILE_FAILED, "the compiler's log"); }, kAny,
                          log.logger, timing),
                      "the compiler's log");
  }
  CHECK(load_or_build(store, request_for(entry), slow_build(entry, 0ms), kAny, log.logger, timing).was_built);
  CHECK((!fs::exists(root / "v1" / "heartbeats") || fs::is_empty(root / "v1" / "heartbeats")));
}

TEST_CASE_METHOD(Fixture, "an entry that is not acceptable is replaced, once, and by one builder") {
  const Store store(root, Access::kReadWrite, log.logger);
  Entry old = sample_entry();
  old.manifest.compiler = "NVRTC 12.9";
  store.publish(old);
  const Entry entry = sample_entry();
  const Acceptable match = [](const Manifest& m) { return m.compiler == "NVRTC 13.0"; };
  std::atomic<int> built{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        const Producer producer = [&] {
          ++built;
          std::this_thread::sleep_for(50ms);
          return entry;
        };
        const Flight flight = load_or_build(store, request_for(entry), producer, match, log.logger, timing);
        if (flight.entry.manifest.compiler != "NVRTC 13.0") built = 100;
      });
    }
  }
  CHECK(built == 1);
  CHECK(store.load(request_for(entry))->manifest.compiler == "NVRTC 13.0");
  CHECK(store.counters().read().entries == 1);
}

TEST_CASE_METHOD(Fixture, "where nothing can be written, every caller builds for itself and is told why it is not kept") {
  write_file(root, "a file in the way");
  const Store store(root, Access::kReadWrite, log.logger);
  const Entry entry = sample_entry();
  const Flight flight = load_or_build(store, request_for(entry), slow_build(entry, 0ms), kAny, log.logger, timing);
  CHECK(flight.was_built);
  REQUIRE(flight.not_kept.has_value());
  CHECK_THAT(flight.not_kept->what(), Catch::Contains(root.string()));
}
