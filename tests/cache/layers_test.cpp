#include "cache/layers.hpp"

#include <catch2/catch.hpp>

#include "cakejit/error.hpp"
#include "tests/cache/samples.hpp"

using namespace cakejit;
using namespace cakejit::cache;
using namespace cakejit::test;
namespace fs = std::filesystem;

namespace {

const Acceptable kAny = [](const Manifest&) { return true; };

Producer counting(const Entry& entry, int& calls) {
  return [&entry, &calls] {
    ++calls;
    return entry;
  };
}

// Forwards to the real file system until a given number of writing calls have been made; then each fails.
class FailingFileSystem final : public FileSystem {
 public:
  explicit FailingFileSystem(int allowed) : allowed_(allowed) {}
  std::optional<FileStatus> status(const Path& path) const override { return real_->status(path); }
  std::optional<std::string> read(const Path& path, std::size_t most) const override { return real_->read(path, most); }
  std::vector<std::string> list(const Path& directory) const override { return real_->list(directory); }
  void make_directories(const Path& directory, mode_t mode) override {
    step();
    real_->make_directories(directory, mode);
  }
  void write_new(const Path& path, std::string_view bytes, mode_t mode) override {
    step();
    real_->write_new(path, bytes, mode);
  }
  void sync_directory(const Path& directory) override {
    step();
    real_->sync_directory(directory);
  }
  RenameResult rename_directory(const Path& from, const Path& to) override {
    step();
    return real_->rename_directory(from, to);
  }
  void remove_tree(const Path& directory) override { real_->remove_tree(directory); }
  [[nodiscard]] bool failed() const { return allowed_ < 0; }

 private:
  void step() {
    if (--allowed_ < 0) throw Error(CAKE_STATUS_CACHE, "injected: Input/output error");
  }
  std::shared_ptr<FileSystem> real_ = real_file_system();
  int allowed_;
};

}  // namespace

TEST_CASE("read-only layers are asked in order, before the writable one, and a hit there touches nothing") {
  const TemporaryFolder folder;
  RecordedLog log;
  const Entry entry = sample_entry();
  const fs::path first = folder.path() / "first";
  const fs::path second = folder.path() / "second";
  const fs::path writable = folder.path() / "writable";
  Store(second, Access::kReadWrite, log.logger).publish(entry);
  Layers layers({first, second}, writable, log.logger);
  int builds = 0;
  const Obtained obtained = layers.obtain(request_for(entry), counting(entry, builds), kAny);
  CHECK(obtained.origin == Origin::kReadOnlyLayer);
  CHECK(obtained.entry.code == entry.code);
  CHECK(builds == 0);
  CHECK_FALSE(fs::exists(first));
  CHECK_FALSE(fs::exists(writable));
}

TEST_CASE("a miss is built once, kept in the writable layer, and found there by the next process") {
  const TemporaryFolder folder;
  RecordedLog log;
  const Entry entry = sample_entry();
  int builds = 0;
  for (int i = 0; i < 3; ++i) {
    Layers layers({}, folder.path() / "cache", log.logger);
    const Obtained obtained = layers.obtain(request_for(entry), counting(entry, builds), kAny);
    CHECK(obtained.origin == (i == 0 ? Origin::kBuilt : Origin::kWritableLayer));
  }
  CHECK(builds == 1);
}

TEST_CASE("a producer's failure passes through unchanged, and the next call tries again") {
  const TemporaryFolder folder;
  RecordedLog log;
  const Entry entry = sample_entry();
  Layers layers({}, folder.path() / "cache", log.logger);
  CHECK_THROWS_WITH(
      layers.obtain(
          request_for(entry), []() -> Entry { throw Error(CAKE_STATUS_COMPILE_FAILED, "the log"); }, kAny),
      "the log");
  CHECK_FALSE(fs::exists(folder.path() / "cache"));
  int builds = 0;
  CHECK(layers.obtain(request_for(entry), counting(entry, builds), kAny).origin == Origin::kBuilt);
}

TEST_CASE("a damaged entry in a read-only layer gives way to the next layer, and is left alone") {
  const TemporaryFolder folder;
  RecordedLog log;
  const Entry entry = sample_entry();
  const fs::path aot = folder.path() / "aot";
  const Store store(aot, Access::kReadWrite, log.logger);
  store.publish(entry);
  write_file(store.entry_path(entry.manifest.name) / "code.cubin", "damaged");
  Layers layers({aot}, folder.path() / "cache", log.logger);
  int builds = 0;
  CHECK(layers.obtain(request_for(entry), counting(entry, builds), kAny).origin == Origin::kBuilt);
  CHECK(read_file(store.entry_path(entry.manifest.name) / "code.cubin") == "damaged");
  CHECK(layers.obtain(request_for(entry), counting(entry, builds), kAny).origin == Origin::kWritableLayer);
  CHECK(builds == 1);
}

TEST_CASE("an entry that is not acceptable is passed over") {
  const TemporaryFolder folder;
  RecordedLog log;
  const Entry entry = sample_entry();
  const fs::path aot = folder.path() / "aot";
  Store(aot, Access::kReadWrite, log.logger).publish(entry);
  Layers layers({aot}, std::nullopt, log.logger);
  int builds = 0;
  CHECK(layers
            .obtain(request_for(entry), counting(entry, builds),
                    [](const Manifest& m) { return m.compiler == "NVRTC 13.5"; })
            .origin == Origin::kBuilt);
  CHECK(builds == 1);
}

TEST_CASE("without a writable layer, or with one that can't be written, entries are built, with one warning in all") {
  RecordedLog log;
  const std::optional<Path> writables[] = {std::nullopt, Path("/dev/null/cache")};
  for (const auto& writable : writables) {
    log.text.str("");
    Layers layers({}, writable, log.logger);
    int builds = 0;
    for (int seed = 0; seed < 3; ++seed) {
      const Entry entry = sample_entry(seed);
      CHECK(layers.obtain(request_for(entry), counting(entry, builds), kAny).origin == Origin::kBuilt);
    }
    const std::string text = log.text.str();
    CHECK(builds == 3);
    std::size_t warnings = 0;
    for (auto at = text.find("[warning]"); at != std::string::npos; at = text.find("[warning]", at + 1)) ++warnings;
    CHECK(warnings == 1);
  }
}

TEST_CASE("whichever file operation of a publish fails, the built entry is served and no half of it is found later") {
  const Entry entry = sample_entry();
  bool failed = true;
  for (int allowed = 0; failed; ++allowed) {
    REQUIRE(allowed < 30);
    const TemporaryFolder folder;
    RecordedLog log;
    const auto files = std::make_shared<FailingFileSystem>(allowed);
    Layers layers({}, folder.path() / "cache", log.logger, files);
    int builds = 0;
    CAPTURE(allowed);
    CHECK(layers.obtain(request_for(entry), counting(entry, builds), kAny).entry.code == entry.code);
    failed = files->failed();
    const Store store(folder.path() / "cache", Access::kReadOnly, log.logger);
    std::vector<Damage> damaged;
    const auto found = store.list(&damaged, true);
    CHECK(damaged.empty());
    CHECK(found.size() <= 1);
    const fs::path temporaries = folder.path() / "cache" / "v1" / "tmp";
    CHECK((!fs::exists(temporaries) || fs::is_empty(temporaries)));
    if (!failed) CHECK(found.size() == 1);
  }
}
