#include "cache/layers.hpp"

#include <catch2/catch.hpp>

#include "cakejit/error.hpp"
#include "tests/cache/intercepted_file_system.hpp"
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
  CHECK(Store(folder.path() / "cache", Access::kReadOnly, log.logger).list().empty());
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

TEST_CASE("whichever file operation fails, the entry is served and no half of it is found later") {
  const Entry entry = sample_entry();
  const auto fault = GENERATE(as<std::string>{}, "Input/output error", "No space left on device");
  bool failed = true;
  for (int allowed = 0; failed; ++allowed) {
    REQUIRE(allowed < 200);
    const TemporaryFolder folder;
    RecordedLog log;
    int left = allowed;
    const auto files = std::make_shared<InterceptedFileSystem>([&](std::string_view operation, const Path& path) {
      // One operation fails, as a bad block would make it; or all that write, as on a full disk.
      const bool writes = operation != "read" && operation != "status" && operation != "list" &&
                          operation != "open_directory" && operation != "remove_tree";
      if (fault[0] == 'N' && !writes) return;
      if (fault[0] == 'N' ? --left < 0 : left-- == 0) {
        throw Error(CAKE_STATUS_CACHE, "injected: " + path.string() + ": " + fault);
      }
    });
    CAPTURE(fault, allowed);
    int builds = 0;
    for (int process = 0; process < 3; ++process) {
      Layers layers({}, folder.path() / "cache", log.logger, files);
      CHECK(layers.obtain(request_for(entry), counting(entry, builds), kAny).entry.code == entry.code);
    }
    CHECK(builds <= 3);
    failed = left < 0;
    const Store store(folder.path() / "cache", Access::kReadWrite, log.logger);
    std::vector<Damage> damaged;
    const auto found = store.list(&damaged, true);
    CHECK(damaged.empty());
    CHECK(found.size() <= 1);
    store.sweep();
    const fs::path temporaries = folder.path() / "cache" / "v1" / "tmp";
    CHECK((!fs::exists(temporaries) || fs::is_empty(temporaries)));
    if (!failed) CHECK(found.size() == 1);
    if (!failed) CHECK(builds == 1);
  }
}
