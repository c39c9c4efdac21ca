// A building process is killed: at each of its system calls in turn, and at random moments. Nothing it leaves is ever
// loaded, its temporaries are gone once the next process looks, and the next build is right.
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <csignal>
#include <random>
#include <thread>

#include "cache/layers.hpp"
#include "cakejit/error.hpp"
#include "tests/cache/samples.hpp"
#include "tests/support/child.hpp"

using namespace cakejit;
using namespace cakejit::cache;
using namespace cakejit::test;
namespace fs = std::filesystem;

namespace {

const Acceptable kAny = [](const Manifest&) { return true; };
constexpr Caps kCaps{.bytes = 0, .entries = 4};

Entry obtain(Layers& layers, int seed) {
  const Entry entry = sample_entry(seed);
  return layers.obtain(request_for(entry), [&] { return entry; }, kAny).entry;
}

// What a process does that starts after the crash.
void check_aftermath(const fs::path& root, int seed) {
  RecordedLog log;
  std::vector<Damage> damaged;
  const Store store(root, Access::kReadOnly, log.logger);
  (void)store.list(&damaged, true);
  REQUIRE(damaged.empty());
  Layers layers({}, root, log.logger, real_file_system(), kCaps);
  REQUIRE(obtain(layers, seed).code == sample_entry(seed).code);
  REQUIRE(log.text.str().find("[warning]") == std::string::npos);
  const fs::path temporaries = root / "v1" / "tmp";
  if (!fs::exists(temporaries)) return;
  for (const auto& left : fs::directory_iterator(temporaries)) {
    // Evicted entries stay for a minute, whole, for whoever loads them.
    REQUIRE(left.path().filename().string().starts_with("evicted."));
  }
}

// Runs `body` in a child that is killed when it enters or leaves its `stops`-th system call; true if it got to its end before.
// nullopt where processes may not be traced.
template <class Body>
std::optional<bool> killed_at(int stops, Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(77);
    ::raise(SIGSTOP);
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) return std::nullopt;
  for (int stop = 0; stop < stops; ++stop) {
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0 || ::waitpid(child, &status, 0) != child) break;
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 0;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return false;
}

}  // namespace

TEST_CASE("a build that is killed at any system call leaves whole entries or none") {
  // A first build, a rebuild of a damaged entry, and one that evicts.
  const auto before = GENERATE(as<std::string>{}, "nothing", "damaged", "full");
  CAPTURE(before);
  bool finished = false;
  int stops = 1;
  for (; !finished; ++stops) {
    REQUIRE(stops < 5000);
    CAPTURE(stops);
    const TemporaryFolder folder;
    const fs::path root = folder.path() / "cache";
    RecordedLog log;
    const Store store(root, Access::kReadWrite, log.logger);
    if (before == "damaged") {
      store.publish(sample_entry(0));
      write_file(store.entry_path(sample_entry(0).manifest.name) / "code.cubin", "damaged");
    }
    if (before == "full") {
      for (int seed = 1; seed <= 4; ++seed) store.publish(sample_entry(seed));
    }
    const auto ended = killed_at(stops, [&] {
      Layers layers({}, root, log.logger, real_file_system(), kCaps);
      if (obtain(layers, 0).code != sample_entry(0).code) ::_exit(1);
    });
    if (!ended) {
      WARN("processes may not be traced here: not checked");
      return;
    }
    finished = *ended;
    if (before != "damaged") {
      check_aftermath(root, 0);
    } else {
      // Whoever comes first may still find the damage; then it is as if it had come before the crash.
      Layers layers({}, root, log.logger, real_file_system(), kCaps);
      REQUIRE(obtain(layers, 0).code == sample_entry(0).code);
      check_aftermath(root, 0);
    }
  }
  CHECK(stops > 50);
}

TEST_CASE("processes that are killed at random, 600 times, lose nothing and leave nothing") {
  const TemporaryFolder folder;
  const fs::path root = folder.path() / "cache";
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<pid_t> children;
    for (int p = 0; p < 2; ++p) {
      const auto child_seed = random();
      const pid_t child = ::fork();
      if (child == 0) {
        std::mt19937 own(child_seed);
        RecordedLog log;
        Layers layers({}, root, log.logger, real_file_system(), kCaps);
        for (;;) (void)obtain(layers, static_cast<int>(own() % 12));
      }
      children.push_back(child);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    for (const pid_t child : children) ::kill(child, SIGKILL);
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    CAPTURE(round);
    check_aftermath(root, static_cast<int>(random() % 12));
  }
  CHECK_FALSE(fs::exists(root / "v1" / "quarantine"));
}

TEST_CASE("on a full disk builds go on, what is there stays whole, and space that comes back is used") {
  const TemporaryFolder folder;
  const fs::path root = folder.path() / "disk";
  fs::create_directory(root);
  const int status = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", root.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0) {
      return 77;
    }
    RecordedLog log;
    Layers layers({}, root, log.logger);
    for (int seed = 0; seed < 30; ++seed) {
      if (obtain(layers, seed).code != sample_entry(seed).code) return 1;
    }
    std::vector<Damage> damaged;
    const Store store(root, Access::kReadWrite, log.logger);
    const auto kept = store.list(&damaged, true);
    if (!damaged.empty() || kept.empty() || kept.size() >= 30) return 2;
    if (!fs::is_empty(root / "v1" / "tmp")) return 3;
    if (log.text.str().find("No space left on device") == std::string::npos) return 4;
    for (const Manifest& manifest : kept) store.remove(manifest.name);
    Layers next({}, root, log.logger);
    (void)obtain(next, 100);
    return store.list(nullptr, true).size() == 1 ? 0 : 5;
  });
  if (status == 77) {
    WARN("no file system may be mounted here: not checked");
    return;
  }
  CHECK(status == 0);
}
