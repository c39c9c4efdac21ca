#include "cache/store.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <catch2/catch.hpp>

#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "cakejit/error.hpp"
#include "tests/cache/samples.hpp"

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

// Runs `body` in a forked child; its exit status.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      ::_exit(body());
    } catch (...) {
      ::_exit(99);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
  const Store shared(folder.path() / "shared", Access::kReadWrite, log.logger, real_file_system(), Sharing::kReadable);
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

TEST_CASE_METHOD(Fixture,
                 "a flipped bit or a cut anywhere in manifest or code is a miss; the entry is set aside and rebuilt") {
  store.publish(entry);
  const fs::path path = store.entry_path(entry.manifest.name);
  for (const char* file : {"manifest.json", "code.cubin"}) {
    const std::string good = read_file(path / file);
    for (std::size_t at = 0; at < good.size(); at += good.size() / 40 + 1) {
      for (const bool cut : {false, true}) {
        std::string bad = cut ? good.substr(0, at) : good;
        if (!cut) bad[at] = static_cast<char>(bad[at] ^ 0x10);
        write_file(path / file, bad);
        CAPTURE(file, at, cut);
        const auto loaded = store.load(request_for(entry));
        // A changed byte in what is only told to people may pass; code and identity never.
        if (loaded) {
          CHECK(loaded->code == entry.code);
          CHECK(loaded->manifest.digest == entry.manifest.digest);
          write_file(path / file, good);
          continue;
        }
        CHECK_FALSE(fs::exists(path));
        store.publish(entry);
        REQUIRE(store.load(request_for(entry)).has_value());
      }
    }
  }
  CHECK(fs::exists(root / "v1" / "quarantine"));
  CHECK(std::distance(fs::directory_iterator(root / "v1" / "quarantine"), {}) <= 16);
  CHECK(log.lines() > 0);
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
          const rlimit limit{64 * 1024, 64 * 1024};
          ::setrlimit(RLIMIT_FSIZE, &limit);
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
  // Two hours on, the next publish sweeps what the dead left behind; a fresh temporary stays.
  const fs::path temporaries = root / "v1" / "tmp";
  fs::create_directories(temporaries / "left");
  for (const auto& item : fs::directory_iterator(temporaries)) {
    fs::last_write_time(item.path(), fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  fs::create_directories(temporaries / "fresh");
  store.publish(sample_entry(-1));
  CHECK_FALSE(fs::exists(temporaries / "left"));
  CHECK(fs::exists(temporaries / "fresh"));
  CHECK(std::distance(fs::directory_iterator(temporaries), {}) == 1);
}
