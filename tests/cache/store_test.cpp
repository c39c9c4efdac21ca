#include "cache/store.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <catch2/catch.hpp>

#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "cache/temporary.hpp"
#include "cakejit/error.hpp"
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
  Store store{root, Access::kReadWrite, log.logger};
  Entry entry = sample_entry();
};

// Everything below a folder: paths, modes, sizes, times.
std::set<std::string> listing(const fs::path& root) {
  std::set<std::string> items;
  for (const auto& item : fs::recursive_directory_iterator(root)) {
    struct stat s {};
    ::lstat(item.path().c_str(), &s);
    items.insert(item.path().string() + " " + std::to_string(s.st_mode) + " " + std::to_string(s.st_size) + " " +
                 std::to_string(s.st_mtim.tv_sec) + "." + std::to_string(s.st_mtim.tv_nsec));
  }
  return items;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "what is published is loaded, listed and read back") {
  CHECK_FALSE(store.load(request_for(entry)).has_value());
  store.publish(entry);
  const auto loaded = store.load(request_for(entry));
  REQUIRE(loaded.has_value());
  CHECK(loaded->code == entry.code);
  CHECK(loaded->manifest == entry.manifest);
  CHECK(store.read(entry.manifest.name)->source == entry.source);
  CHECK(store.list() == std::vector<Manifest>{entry.manifest});
  CHECK(store.list(nullptr, true).size() == 1);
  CHECK(log.lines() == 0);
  CHECK(store.remove(entry.manifest.name));
  CHECK_FALSE(store.remove(entry.manifest.name));
  CHECK(store.list().empty());
}

TEST_CASE_METHOD(Fixture, "folders are for the user alone, or readable by all where that was asked for") {
  store.publish(entry);
  const Store shared(folder.path() / "shared", Access::kReadWrite, log.logger, real_file_system(),
                     {.sharing = Sharing::kReadable, .caps = {}});
  shared.publish(entry);
  const auto mode = [](const fs::path& path) {
    struct stat s {};
    ::stat(path.c_str(), &s);
    return s.st_mode & 0777;
  };
  CHECK(mode(root) == 0700);
  CHECK(mode(store.entry_path(entry.manifest.name)) == 0700);
  CHECK(mode(store.entry_path(entry.manifest.name) / "code.cubin") == 0600);
  CHECK(mode(shared.root()) == 0755);
  CHECK(mode(shared.entry_path(entry.manifest.name) / "code.cubin") == 0644);
}

TEST_CASE_METHOD(Fixture, "a flipped bit or a cut anywhere is a miss; the entry is set aside, counted, and rebuilt once") {
  store.publish(entry);
  const fs::path path = store.entry_path(entry.manifest.name);
  std::int64_t damaged = 0;
  for (const char* file : {"manifest.json", "code.cubin"}) {
    const std::string good = read_file(path / file);
    for (std::size_t at = 0; at < good.size(); at += file[0] == 'm' ? 1 : 5) {
      for (const bool cut : {false, true}) {
        std::string bad = cut ? good.substr(0, at) : good;
        if (!cut) bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
        write_file(path / file, bad);
        CAPTURE(file, at, cut);
        REQUIRE_FALSE(store.load(request_for(entry)).has_value());
        REQUIRE_FALSE(fs::exists(path));
        REQUIRE(store.counters().read().damaged == ++damaged);
        store.publish(entry);
        REQUIRE(store.load(request_for(entry)).has_value());
      }
    }
  }
  CHECK(store.counters().read().entries == 1);
  CHECK(std::distance(fs::directory_iterator(root / "v1" / "quarantine"), {}) == 16);
  CHECK(log.lines() == damaged);
}

TEST_CASE_METHOD(Fixture, "source.cu is for people: a load does without it, a verification looks at each of its bytes") {
  entry.source = "source";
  entry.manifest.source_bytes = entry.source.size();
  entry.manifest.source_checksum = xxh3_128(entry.source).hex();
  store.publish(entry);
  const fs::path path = store.entry_path(entry.manifest.name) / "source.cu";
  for (std::size_t at = 0; at < entry.source.size(); ++at) {
    std::string bad = entry.source;
    bad[at] ^= 1;
    for (const std::string& bytes : {bad, entry.source.substr(0, at)}) {
      write_file(path, bytes);
      CHECK(store.load(request_for(entry)).has_value());
      std::vector<Damage> damaged;
      CHECK(store.list(&damaged, true).empty());
      CHECK(damaged.size() == 1);
    }
  }
}

TEST_CASE_METHOD(Fixture, "an entry under another's name, for another target or ABI is not served") {
  const Entry other = sample_entry(1);
  store.publish(entry);
  store.publish(other);
  const fs::path mine = store.entry_path(entry.manifest.name);
  fs::remove_all(mine);
  fs::create_directories(mine.parent_path());
  fs::rename(store.entry_path(other.manifest.name), mine);
  CHECK_FALSE(store.load(request_for(entry)).has_value());
  store.publish(entry);
  Request request = request_for(entry);
  request.target = "sm_100a";
  CHECK_FALSE(store.load(request).has_value());
  store.publish(entry);
  request = request_for(entry);
  request.abi_version = 2;
  CHECK_FALSE(store.load(request).has_value());
}

TEST_CASE_METHOD(Fixture, "symbolic links, FIFOs and missing files in an entry are misses and hang nobody") {
  for (const char* file : {"manifest.json", "code.cubin"}) {
    for (const int kind : {0, 1, 2}) {
      store.publish(entry);
      const fs::path path = store.entry_path(entry.manifest.name) / file;
      const fs::path outside = folder.path() / "outside";
      write_file(outside, read_file(path));
      fs::remove(path);
      if (kind == 0) fs::create_symlink(outside, path);
      if (kind == 1) REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
      CAPTURE(file, kind);
      CHECK_FALSE(store.load(request_for(entry)).has_value());
      CHECK(fs::exists(outside));
    }
  }
  store.publish(entry);
  const fs::path path = store.entry_path(entry.manifest.name);
  fs::rename(path, folder.path() / "elsewhere");
  fs::create_directory_symlink(folder.path() / "elsewhere", path);
  CHECK_FALSE(store.load(request_for(entry)).has_value());
}

TEST_CASE_METHOD(Fixture, "nothing is loaded from, or put into, a folder that others can write; it is left as it is") {
  store.publish(entry);
  for (const fs::path& path : {root, root / "v1", store.entry_path(entry.manifest.name)}) {
    fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
    const auto before = listing(root);
    CAPTURE(path);
    CHECK_FALSE(store.load(request_for(entry)).has_value());
    CHECK_THAT(log.text.str(), Catch::Contains("can be written by others"));
    CHECK_THROWS_WITH(store.publish(entry), Catch::Contains("can be written by others"));
    CHECK(listing(root) == before);
    fs::permissions(path, fs::perms::others_write, fs::perm_options::remove);
    CHECK(store.load(request_for(entry)).has_value());
  }
}

TEST_CASE_METHOD(Fixture, "names that are no library names never become paths") {
  for (const std::string& bad :
       {std::string("../x"), std::string("/etc/passwd"), std::string(), std::string(5000, 'a')}) {
    CHECK_THROWS_AS(store.entry_path(bad), Error);
    CHECK_FALSE(store.load({bad, bad, "sm_90a", 1}).has_value());
  }
  CHECK_FALSE(fs::exists(root));
}

TEST_CASE_METHOD(Fixture, "a read-only store changes nothing, however damaged its entries are") {
  store.publish(entry);
  write_file(store.entry_path(entry.manifest.name) / "code.cubin", "cut");
  const auto before = listing(root);
  const Store reader(root, Access::kReadOnly, log.logger);
  CHECK_FALSE(reader.load(request_for(entry)).has_value());
  std::vector<Damage> damaged;
  CHECK(reader.list(&damaged, true).empty());
  REQUIRE(damaged.size() == 1);
  CHECK_THAT(damaged[0].reason, Catch::Contains("code.cubin"));
  CHECK_THROWS_AS(reader.publish(entry), Error);
  CHECK_THROWS_AS(reader.read(entry.manifest.name), Error);
  CHECK(listing(root) == before);
  const Store absent(folder.path() / "absent", Access::kReadOnly, log.logger);
  CHECK_FALSE(absent.load(request_for(entry)).has_value());
  CHECK(absent.list().empty());
  CHECK_FALSE(fs::exists(folder.path() / "absent"));
}

TEST_CASE_METHOD(Fixture, "a publish that fails says where and why, and leaves no temporary behind") {
  write_file(root, "a file where the folder should be");
  CHECK_THROWS_WITH(store.publish(entry), Catch::Contains(root.string()) && Catch::Contains("CAKEJIT_CACHE_DIR"));
  fs::remove(root);
  Entry large = entry;
  large.code = std::string(1 << 20, 'x');
  large.manifest.code_bytes = large.code.size();
  large.manifest.code_checksum = xxh3_128(large.code).hex();
  CHECK(in_child([&] {  // a full disk, as far as this process is concerned
          ::signal(SIGXFSZ, SIG_IGN);
          limit_resource(RLIMIT_FSIZE, 64 * 1024);
          try {
            store.publish(large);
            return 1;
          } catch (const Error& error) {
            return std::string(error.what()).find("File too large") != std::string::npos ? 0 : 2;
          }
        }) == 0);
  CHECK(fs::is_empty(root / "v1" / "tmp"));
  CHECK(store.list().empty());
  store.publish(large);
  CHECK(store.load(request_for(large)).has_value());
}

TEST_CASE_METHOD(Fixture, "an entry whose bytes do not match its manifest is never published") {
  entry.code += "more";
  CHECK_THROWS_AS(store.publish(entry), Error);
  CHECK_FALSE(fs::exists(root));
}

TEST_CASE_METHOD(Fixture, "eight processes that publish the same entry all end with it") {
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      int bad = 0;
      for (int round = 0; round < 20; ++round) {
        const Entry mine = sample_entry(round);
        store.publish(mine);
        const auto loaded = store.load(request_for(mine));
        bad += loaded && loaded->code == mine.code ? 0 : 1;
      }
      ::_exit(bad);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(store.list(nullptr, true).size() == 20);
  CHECK(fs::is_empty(root / "v1" / "tmp"));
  CHECK_FALSE(fs::exists(root / "v1" / "quarantine"));
}

TEST_CASE_METHOD(Fixture,
                 "a writer killed at any moment leaves whole entries only, and its temporaries are swept in time") {
  for (int round = 0; round < 60; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int i = 0;; ++i) store.publish(sample_entry(1000 * round + i));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(300 + 211 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  std::vector<Damage> damaged;
  CHECK_FALSE(store.list(&damaged, true).empty());
  CHECK(damaged.empty());
  // The next process to look here sweeps what the dead left behind, however young; the living keep theirs.
  const fs::path temporaries = root / "v1" / "tmp";
  fs::create_directories(temporaries / "left" / "deep");
  const Temporary alive(*store.files(), store.layout(), "alive");
  fs::create_directory(alive.path());
  store.sweep();
  CHECK(fs::exists(alive.path()));
  CHECK(std::distance(fs::directory_iterator(temporaries), {}) == 1);
}

TEST_CASE_METHOD(Fixture, "where the file system has no locks, temporaries are swept when they are an hour old") {
  const auto files = std::make_shared<InterceptedFileSystem>([](std::string_view operation, const Path&) {
    if (operation == "try_lock") throw LocksUnsupported(CAKE_STATUS_CACHE, "no locks here");
  });
  const Store lockless(root, Access::kReadWrite, log.logger, files);
  const fs::path temporaries = root / "v1" / "tmp";
  fs::create_directories(temporaries / "old");
  fs::create_directories(temporaries / "fresh");
  fs::last_write_time(temporaries / "old", fs::file_time_type::clock::now() - std::chrono::hours(2));
  lockless.sweep();
  CHECK_FALSE(fs::exists(temporaries / "old"));
  CHECK(fs::exists(temporaries / "fresh"));
}
