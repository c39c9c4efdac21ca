#include "cache/miss.hpp"

#include <catch2/catch.hpp>

#include "cache/layers.hpp"
#include "tests/cache/samples.hpp"

using namespace cakejit;
using namespace cakejit::cache;
using namespace cakejit::test;

namespace {

Request wanted(int seed) {
  const Entry entry = sample_entry(seed);
  Request request = request_for(entry);
  request.specialization = entry.manifest.specialization;
  return request;
}

}  // namespace

TEST_CASE("a miss names the nearest entry and the fields in which it differs") {
  const TemporaryFolder folder;
  RecordedLog log;
  const Store store(folder.path() / "cache", Access::kReadWrite, log.logger);
  CHECK(explain_miss(store, wanted(0)) == "has no entry");

  Entry far = sample_entry(1);
  far.manifest.target = "sm_100a";
  far.manifest.specialization["dtype"] = "fp16";
  far.manifest.specialization["channels"] = "512";
  Entry near = sample_entry(2);
  near.manifest.specialization["channels"] = "512";
  store.publish(far);
  store.publish(near);
  CHECK(explain_miss(store, wanted(0)) ==
        "the nearest of 2 entries is " + near.manifest.name + ": channels is 512, not 4096");

  Entry other_target = sample_entry(3);
  other_target.manifest.target = "sm_100a";
  store.publish(other_target);
  store.remove(near.manifest.name);
  CHECK(explain_miss(store, wanted(0)) ==
        "the nearest of 2 entries is " + other_target.manifest.name + ": target is sm_100a, not sm_90a");

  store.publish(sample_entry(4));
  CHECK_THAT(explain_miss(store, wanted(0)),
             Catch::Contains(sample_entry(4).manifest.name) && Catch::Contains("other kernel source or options"));
  Entry other_abi = sample_entry(0);
  other_abi.manifest.abi_version = 9;
  store.publish(other_abi);
  CHECK(explain_miss(store, wanted(0)) == "has it, but kernel ABI is 9, not 1");
}

TEST_CASE("the explanation is made for the debug log alone, one line a layer") {
  const TemporaryFolder folder;
  for (const bool debug : {false, true}) {
    RecordedLog log;
    log.logger->set_level(debug ? spdlog::level::debug : spdlog::level::info);
    const std::string name = debug ? "d" : "i";
    Layers layers({folder.path() / (name + "1"), folder.path() / (name + "2")}, folder.path() / name, log.logger);
    (void)layers.obtain(wanted(0), [] { return sample_entry(0); }, [](const Manifest&) { return true; });
    const std::string text = log.text.str();
    CHECK_THAT(text, Catch::Contains("is in no cache layer: building it"));
    CHECK((text.find(folder.path() / (name + "1: has no entry")) != std::string::npos) == debug);
    CHECK((text.find(folder.path() / (name + "2: has no entry")) != std::string::npos) == debug);
  }
}
