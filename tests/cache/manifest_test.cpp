#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "cakejit/error.hpp"
#include "tests/cache/samples.hpp"

using namespace cakejit;
using namespace cakejit::cache;
using cakejit::test::sample_entry;
using Json = nlohmann::ordered_json;

TEST_CASE("a manifest's text is parsed back to the same manifest") {
  const Manifest manifest = sample_entry().manifest;
  CHECK(parse_manifest(to_json(manifest)) == manifest);
}

TEST_CASE("unknown fields are ignored, so that later versions may add some") {
  Json json = Json::parse(to_json(sample_entry().manifest));
  json["later"] = {1, 2, 3};
  CHECK(parse_manifest(json.dump()) == sample_entry().manifest);
}

TEST_CASE("a manifest that lies is refused by the field's name") {
  struct Lie {
    const char* field;
    Json value;
  };
  const Lie lies[] = {{"format", 2},
                      {"format", "1"},
                      {"name", "../../etc/passwd"},
                      {"name", "cake_causal_conv1d_det_train_zz"},
                      {"name", 5},
                      {"digest", "abc"},
                      {"digest", std::string(32, 'G')},
                      {"target", 90},
                      {"target", std::string(5000, 'x')},
                      {"abi_version", -1},
                      {"abi_version", 1.5},
                      {"code_kind", "exe"},
                      {"code_bytes", -1},
                      {"code_bytes", 1e30},
                      {"code_bytes", std::uint64_t{1} << 40},
                      {"code_checksum", ""},
                      {"source_bytes", nullptr},
                      {"source_checksum", true},
                      {"specialization", Json::array()},
                      {"specialization", {{"channels", 4096}}},
                      {"compile_options", "-O3"},
                      {"compile_options", {1, 2}},
                      {"link_options", Json::object()},
                      {"compiler", nullptr},
                      {"linker", Json::array()},
                      {"compile_ms", -1},
                      {"compile_ms", "fast"},
                      {"link_ms", nullptr},
                      {"created_unix_s", -5},
                      {"entries", Json::object()},
                      {"entries", {1}}};
  for (const Lie& lie : lies) {
    Json json = Json::parse(to_json(sample_entry().manifest));
    json[lie.field] = lie.value;
    CAPTURE(lie.field, lie.value.dump().substr(0, 100));
    CHECK_THROWS_WITH(parse_manifest(json.dump()), Catch::Contains(lie.field));
    json.erase(lie.field);
    CHECK_THROWS_WITH(parse_manifest(json.dump()), Catch::Contains(lie.field) && Catch::Contains("missing"));
  }
}

TEST_CASE("no prefix of a manifest is one, and nesting, size and noise are bounded") {
  const std::string text = to_json(sample_entry().manifest);
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    CAPTURE(length);
    CHECK_THROWS_AS(parse_manifest(std::string_view(text).substr(0, length)), Error);
  }
  CHECK_THROWS_AS(parse_manifest(std::string(500'000, '[')), Error);
  CHECK_THROWS_AS(parse_manifest(std::string(2'000'000, ' ')), Error);
  CHECK_THROWS_AS(parse_manifest("null"), Error);
  CHECK_THROWS_AS(parse_manifest("{\"format\": 1, \"name\": \"\xff\xfe\"}"), Error);
}

TEST_CASE("only library names are names") {
  const std::string digest(32, 'a');
  CHECK(is_library_name("cake_causal_conv1d_det_train_" + digest));
  CHECK(is_library_name("cake_causal_conv1d_det_train_" + digest + "_kcp"));
  for (const std::string& bad :
       {std::string(), std::string("."), std::string("../x"), "/cake_causal_conv1d_det_train_" + digest,
        "cake_causal_conv1d_det_train_" + digest + "_KCP", "cake_causal_conv1d_train_" + digest,
        "cake_causal_conv1d_det_train_" + digest + "/..", std::string(100'000, 'a'),
        "cake_causal_conv1d_det_train_" + std::string(32, 'A')}) {
    CAPTURE(bad.substr(0, 80));
    CHECK_FALSE(is_library_name(bad));
  }
}

TEST_CASE("a sealed manifest is JSON with its checksum last, and tells any change") {
  Manifest manifest = sample_entry().manifest;
  manifest.derived_from = sample_entry(1).manifest.name;
  const std::string sealed = seal_manifest(to_json(manifest));
  CHECK(parse_manifest(unseal_manifest(sealed)) == manifest);
  const Json json = Json::parse(sealed);
  CHECK(json.at("checksum").get<std::string>().size() == 32);
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    std::string bad = sealed;
    bad[at] ^= 1;
    CHECK_THROWS_AS(unseal_manifest(bad), Error);
    CHECK_THROWS_AS(unseal_manifest(sealed.substr(0, at)), Error);
  }
  CHECK_THROWS_AS(unseal_manifest(sealed + "\n"), Error);
  CHECK_THROWS_AS(unseal_manifest(to_json(manifest)), Error);
}
