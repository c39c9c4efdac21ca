#include "cache/file_system.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include "cakejit/error.hpp"
#include "tests/cache/samples.hpp"
#include "tests/support/child.hpp"

using namespace cakejit;
using namespace cakejit::cache;
using namespace cakejit::test;
namespace fs = std::filesystem;

namespace {

struct Fixture {
  TemporaryFolder folder;
  fs::path here = folder.path();
  std::shared_ptr<FileSystem> files = real_file_system();
};

mode_t mode_of(const fs::path& path) {
  struct stat s {};
  REQUIRE(::lstat(path.c_str(), &s) == 0);
  return s.st_mode & 07777;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "what is written is read, and its status is that of the path itself") {
  const std::string bytes = std::string("a\0b\n", 4) + std::string(200'000, 'x');
  files->write_new(here / "file", bytes, 0600);
  CHECK(files->read(here / "file", 1 << 20) == bytes);
  const auto status = files->status(here / "file");
  REQUIRE(status.has_value());
  CHECK(status->kind == FileStatus::Kind::kRegular);
  CHECK(status->bytes == bytes.size());
  CHECK(status->permissions == 0600);
  CHECK(status->owner == ::geteuid());
  CHECK(status->modified_unix_s > 1'600'000'000);
  fs::create_symlink(here / "file", here / "link");
  CHECK(files->status(here / "link")->kind == FileStatus::Kind::kOther);
  CHECK(files->status(here)->kind == FileStatus::Kind::kDirectory);
}

TEST_CASE_METHOD(Fixture, "what is not there is no error, below a file neither") {
  files->write_new(here / "file", "", 0600);
  for (const fs::path& path : {here / "absent", here / "absent" / "deeper", here / "file" / "below"}) {
    CAPTURE(path);
    CHECK_FALSE(files->status(path).has_value());
    CHECK_FALSE(files->read(path, 100).has_value());
    CHECK(files->list(path).empty());
    CHECK_NOTHROW(files->remove_tree(path));
  }
}

TEST_CASE_METHOD(Fixture, "only regular files of the allowed size are read; nothing else hangs or fills memory") {
  files->write_new(here / "file", "12345", 0600);
  CHECK(files->read(here / "file", 5) == "12345");
  CHECK_THROWS_WITH(files->read(here / "file", 4), Catch::Contains("5 bytes; at most 4"));
  fs::create_symlink(here / "file", here / "link");
  CHECK_THROWS_WITH(files->read(here / "link", 100), Catch::Contains((here / "link").string()));
  REQUIRE(::mkfifo((here / "fifo").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(files->read(here / "fifo", 100), Catch::Contains("not a regular file"));
  CHECK_THROWS_WITH(files->read(here, 100), Catch::Contains("not a regular file"));
  CHECK_THROWS_WITH(files->read("/dev/zero", 100), Catch::Contains("not a regular file"));
  files->write_new(here / "sparse", "", 0600);
  REQUIRE(::truncate((here / "sparse").c_str(), off_t{1} << 40) == 0);
  CHECK_THROWS_WITH(files->read(here / "sparse", 1 << 20), Catch::Contains("at most 1048576"));
}

TEST_CASE_METHOD(Fixture, "a new file never replaces one, nor goes through a link") {
  files->write_new(here / "file", "old", 0600);
  CHECK_THROWS_WITH(files->write_new(here / "file", "new", 0600), Catch::Contains("exists"));
  fs::create_symlink(here / "target", here / "link");
  CHECK_THROWS_AS(files->write_new(here / "link", "new", 0600), Error);
  CHECK_FALSE(fs::exists(here / "target"));
  CHECK(read_file(here / "file") == "old");
  CHECK_THROWS_WITH(files->write_new(here / "absent" / "file", "", 0600), Catch::Contains("No such file"));
}

TEST_CASE_METHOD(Fixture, "folders are made with their parents and the modes asked for; those there stay as they are") {
  const mode_t old = ::umask(022);
  fs::create_directory(here / "there");
  fs::permissions(here / "there", fs::perms(0750));
  files->make_directories(here / "there" / "a" / "b", 0700);
  files->make_directories(here / "there" / "a" / "b" / "c", 0755);
  files->make_directories(here / "there", 0700);
  ::umask(old);
  CHECK(mode_of(here / "there") == 0750);
  CHECK(mode_of(here / "there" / "a") == 0700);
  CHECK(mode_of(here / "there" / "a" / "b") == 0700);
  CHECK(mode_of(here / "there" / "a" / "b" / "c") == 0755);
  files->write_new(here / "file", "", 0600);
  CHECK_THROWS_WITH(files->make_directories(here / "file", 0700), Catch::Contains("Not a directory"));
  CHECK_THROWS_WITH(files->make_directories(here / "file" / "below", 0700), Catch::Contains("Not a directory"));
  fs::create_directory_symlink(here / "nowhere", here / "dangling");
  CHECK_THROWS_AS(files->make_directories(here / "dangling", 0700), Error);
}

TEST_CASE_METHOD(Fixture, "a folder is renamed to a free or empty place, never over another") {
  for (const char* name : {"one", "two", "empty"}) files->make_directories(here / name, 0700);
  files->write_new(here / "one" / "file", "1", 0600);
  files->write_new(here / "two" / "file", "2", 0600);
  CHECK(files->rename_directory(here / "one", here / "two") == RenameResult::kTargetExists);
  CHECK(read_file(here / "two" / "file") == "2");
  files->write_new(here / "file", "", 0600);
  CHECK(files->rename_directory(here / "one", here / "file") == RenameResult::kTargetExists);
  CHECK(files->rename_directory(here / "one", here / "empty") == RenameResult::kRenamed);
  CHECK(files->rename_directory(here / "empty", here / "free") == RenameResult::kRenamed);
  CHECK(read_file(here / "free" / "file") == "1");
  CHECK_THROWS_WITH(files->rename_directory(here / "gone", here / "x"), Catch::Contains("No such file"));
  CHECK_THROWS_AS(files->rename_directory(here / "free", here / "gone" / "x"), Error);
}

TEST_CASE_METHOD(Fixture, "removing a tree removes links in it, not what they point to") {
  files->make_directories(here / "tree" / "deep", 0700);
  files->write_new(here / "kept", "kept", 0600);
  fs::create_symlink(here / "kept", here / "tree" / "deep" / "link");
  fs::create_directory_symlink(here, here / "tree" / "loop");
  files->remove_tree(here / "tree");
  CHECK_FALSE(fs::exists(here / "tree"));
  CHECK(read_file(here / "kept") == "kept");
  fs::create_directory_symlink(here, here / "link");
  files->remove_tree(here / "link");
  CHECK_FALSE(fs::exists(fs::symlink_status(here / "link")));
  CHECK(fs::exists(here / "kept"));
}

TEST_CASE_METHOD(Fixture, "names are listed in order, without . and ..") {
  for (const char* name : {"b", "a", ".hidden", "C"}) files->write_new(here / name, "", 0600);
  CHECK(files->list(here) == std::vector<std::string>{".hidden", "C", "a", "b"});
}

TEST_CASE_METHOD(Fixture, "what this user may not do is told with path and reason") {
  fs::permissions(here, fs::perms(0755));
  files->make_directories(here / "closed", 0700);
  files->write_new(here / "closed" / "file", "secret", 0600);
  files->write_new(here / "secret", "secret", 0600);
  const auto refused = [](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.status() == CAKE_STATUS_CACHE &&
             std::string_view(error.what()).find("Permission denied") != std::string_view::npos;
    }
    return false;
  };
  CHECK(in_child([&] {
          if (!become_nobody()) return 50;
          if (!refused([&] { (void)files->read(here / "secret", 100); })) return 1;
          if (!refused([&] { (void)files->list(here / "closed"); })) return 2;
          if (!refused([&] { (void)files->status(here / "closed" / "file"); })) return 3;
          if (!refused([&] { files->write_new(here / "new", "", 0600); })) return 4;
          if (!refused([&] { files->make_directories(here / "new" / "deeper", 0700); })) return 5;
          if (!refused([&] { (void)files->rename_directory(here / "closed", here / "open"); })) return 6;
          if (!refused([&] { files->remove_tree(here / "closed"); })) return 7;
          if (!refused([&] { files->sync_directory(here / "closed"); })) return 8;
          return 0;
        }) == 0);
}

TEST_CASE_METHOD(Fixture, "a full disk and a lack of descriptors are told; the latter says nothing about the file") {
  files->write_new(here / "file", "there", 0600);
  CHECK(in_child([&] {
          ::signal(SIGXFSZ, SIG_IGN);
          limit_resource(RLIMIT_FSIZE, 1000);
          try {
            files->write_new(here / "large", std::string(5000, 'x'), 0600);
          } catch (const Error& error) {
            return std::string_view(error.what()).find("File too large") != std::string_view::npos ? 0 : 2;
          }
          return 1;
        }) == 0);
  CHECK(in_child([&] {
          limit_resource(RLIMIT_NOFILE, 0);
          try {
            (void)files->read(here / "file", 100);
          } catch (const ShortageError&) {
            return 0;
          }
          return 1;
        }) == 0);
}
