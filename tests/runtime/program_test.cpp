#include "runtime/program.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <vector>

#include "runtime/route.hpp"

using namespace cakejit;
using namespace cakejit::runtime;

namespace {

Specialization sample(Pass pass = Pass::kForward) {
  return {.pass = pass,
          .channels = 4096,
          .dtype = CAKE_DTYPE_BF16,
          .has_bias = false,
          .activation = CAKE_ACTIVATION_SILU,
          .vector_channels = 4};
}

Program program(const Specialization& specialization, const char* target = "sm_90a") {
  return make_program(specialization, jit::find_target(target));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The program's source with the names of its entries taken out again.
std::string unnamed_source(const Program& p) {
  std::string source = p.source;
  for (std::size_t i = 0; i < p.entry_symbols.size(); ++i) {
    source = replaced(std::move(source), p.entry_symbols[i], "CAKEJIT_ENTRY_" + std::to_string(i));
  }
  return source;
}

struct GoldenProgram {
  std::string label;
  RouteQuery query;
  std::string target;
  bool portable = false;
};

std::vector<GoldenProgram> golden_programs() {
  const auto forward = [](RouteQuery query) { return query; };
  const auto backward = [](RouteQuery query) {
    query.pass = Pass::kBackward;
    return query;
  };
  const RouteQuery plain{.channels = 4096};
  const RouteQuery biased{.channels = 1160, .has_bias = true};
  const RouteQuery odd{.channels = 129, .dtype = CAKE_DTYPE_FP16, .row_alignment = 2};
  const RouteQuery wide{.channels = 2048, .dtype = CAKE_DTYPE_FP32, .activation = CAKE_ACTIVATION_IDENTITY};
  std::vector<GoldenProgram> programs;
  for (const char* target : {"sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_107a", "sm_120"}) {
    programs.push_back({"forward-bf16-4096", forward(plain), target});
    programs.push_back({"backward-bf16-4096", backward(plain), target});
  }
  for (const char* target : {"sm_80", "sm_90a"}) {
    programs.push_back({"forward-bf16-4096", forward(plain), target, true});
    programs.push_back({"backward-bf16-4096", backward(plain), target, true});
  }
  programs.push_back({"forward-bf16-1160-bias", forward(biased), "sm_90a"});
  programs.push_back({"backward-bf16-1160-bias", backward(biased), "sm_90a"});
  programs.push_back({"forward-fp16-129-unaligned", forward(odd), "sm_90a"});
  programs.push_back({"backward-fp16-129-unaligned", backward(odd), "sm_90a"});
  programs.push_back({"forward-fp32-2048-identity", forward(wide), "sm_90a"});
  programs.push_back({"backward-fp32-2048-identity", backward(wide), "sm_90a"});
  return programs;
}

// The golden file's lines as they should be now: "<label> <target> <digest>".
std::string golden_lines() {
  std::ostringstream lines;
  for (const auto& [label, query, target, portable] : golden_programs()) {
    const jit::Target& chosen = jit::find_target(target);
    Program program = make_program(route(query, chosen), chosen);
    if (portable) program = portable_program(program);
    lines << label << ' ' << program.target.name << ' ' << program.digest.hex() << '\n';
  }
  return lines.str();
}

constexpr const char* kGoldenHeader =
    "# Digests of a few programs. A change here means that every cache is cold once more: it must be wanted.\n"
    "# If it is, write this file anew with: CAKEJIT_WRITE_GOLDEN=1 test_runtime \"the golden digests hold\"\n";

}  // namespace

TEST_CASE("the golden digests hold") {
  const std::string path = CAKEJIT_GOLDEN_DIGESTS;
  const std::string now = kGoldenHeader + golden_lines();
  if (const char* write = std::getenv("CAKEJIT_WRITE_GOLDEN"); write != nullptr && std::string(write) == "1") {
    std::ofstream(path) << now;
    WARN("wrote " << path);
  }
  std::ifstream file(path);
  REQUIRE(file.good());
  std::ostringstream golden;
  golden << file.rdbuf();
  CHECK(golden.str() == now);
}

TEST_CASE("a change of any one field of the specialisation, or of the target, gives another digest and name") {
  const std::vector<std::function<void(Specialization&)>> changes = {
      [](auto&) {},
      [](auto& s) { s.pass = Pass::kBackward; },
      [](auto& s) { s.channels = 4100; },
      [](auto& s) { s.dtype = CAKE_DTYPE_FP16; },
      [](auto& s) { s.dtype = CAKE_DTYPE_FP32; },
      [](auto& s) { s.has_bias = true; },
      [](auto& s) { s.activation = CAKE_ACTIVATION_IDENTITY; },
      [](auto& s) { s.vector_channels = 2; },
      [](auto& s) { s.block_threads = 64; },
      [](auto& s) { s.group_rows = 8; },
      [](auto& s) { s.ring_groups = 2; },
  };
  std::set<std::string> names;
  for (const auto& change : changes) {
    for (const jit::Target& target : jit::all_targets()) {
      Specialization specialization = sample();
      change(specialization);
      const Program made = make_program(specialization, target);
      names.insert(made.name);
      CHECK(made.name == "cake_causal_conv1d_det_train_" + made.digest.hex());
      CHECK(make_program(specialization, target).digest == made.digest);
    }
  }
  CHECK(names.size() == changes.size() * jit::all_targets().size());
}

TEST_CASE("targets of a family share a portable library; families, and a portable one and its targets, share none") {
  const Specialization s = sample(Pass::kBackward);
  std::set<std::string> names;
  for (const jit::Target& target : jit::all_targets()) {
    CAPTURE(target.name);
    const Program exact = make_program(s, target);
    const Program portable = portable_program(exact);
    CHECK(portable.target.is_portable());
    CHECK_FALSE(exact.target.is_portable());
    CHECK(portable.target.arch() <= target.arch());
    CHECK(portable.name != exact.name);
    CHECK(portable.specialization == exact.specialization);
    CHECK(cache_request(portable).code_kind == cache::CodeKind::kLtoIr);
    CHECK(cache_request(exact).code_kind == cache::CodeKind::kCubin);
    names.insert(portable.name);
  }
  CHECK(names.size() == 2);
}

TEST_CASE("the entry symbols are the library's name and the pass") {
  const Program forward = program(sample());
  CHECK(forward.entry_symbols == std::vector<std::string>{forward.name + "_forward"});
  const Program backward = program(sample(Pass::kBackward));
  CHECK(backward.entry_symbols == std::vector<std::string>{backward.name + "_backward", backward.name + "_reduce"});
  for (const Program& made : {forward, backward}) {
    for (const std::string& symbol : made.entry_symbols) CHECK_THAT(made.source, Catch::Contains(symbol + "("));
  }
}

// Entry names and the library's prefix enter the source only where a placeholder stood when it was hashed; so renaming
// either keeps every digest.
TEST_CASE("what is hashed holds placeholders where the source has the entries' names, and no name at all") {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const Program made = program(sample(pass));
    const std::string& hashed = made.key.fields().at("source");
    for (std::size_t i = 0; i < made.entry_symbols.size(); ++i) {
      CHECK_THAT(hashed, Catch::Contains("CAKEJIT_ENTRY_" + std::to_string(i)));
    }
    CHECK_THAT(hashed, !Catch::Contains("cake_causal_conv1d"));
    CHECK_THAT(made.source, !Catch::Contains("CAKEJIT_ENTRY_"));
    CHECK((unnamed_source(made) == hashed));

    cache::KeyRecord key;
    for (const auto& [field, value] : made.key.fields()) {
      key.add(field, field == "source" ? unnamed_source(made) : value);
    }
    CHECK(key.digest() == made.digest);
  }
}

TEST_CASE("the key holds the source, the target, the options and the ABI, and nothing else") {
  const Program made = program(sample(), "sm_100a");
  std::vector<std::string> fields;
  for (const auto& [field, value] : made.key.fields()) fields.push_back(field);
  CHECK(fields == std::vector<std::string>{"abi", "compile_options", "link_options", "source", "target"});
  CHECK(made.key.fields().at("target") == "sm_100a");
  CHECK(made.key.fields().at("abi") == std::to_string(CAKEJIT_KERNEL_ABI));
  CHECK(made.key.digest() == made.digest);
}

TEST_CASE("the source needs no file and names none: no #include, no #define, no path") {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const Program made = program(sample(pass));
    for (const char* word : {"#include", "#define", "#pragma once", "__FILE__", "#line"}) {
      CHECK_THAT(made.source, !Catch::Contains(word));
    }
    std::istringstream lines(made.source);
    for (std::string line; std::getline(lines, line);) {
      // An absolute path: a slash after a quote, a bracket, a blank or at the start, and a name right behind it.
      for (std::size_t at = line.find('/'); at != std::string::npos; at = line.find('/', at + 1)) {
        const bool starts = at == 0 || line.find_first_of(" \t\"'<(=", at - 1) == at - 1;
        const bool named = at + 1 < line.size() && std::isalpha(static_cast<unsigned char>(line[at + 1])) != 0;
        if (starts && named) FAIL_CHECK("path in the source: " << line);
      }
    }
    CHECK_THAT(made.source, !Catch::Contains(CAKEJIT_SOURCE_FOLDER));
  }
}

TEST_CASE("each constant of the specialisation stands in the source once, as given") {
  Specialization s = sample(Pass::kBackward);
  s.channels = 2147483647;
  s.vector_channels = 1;
  s.has_bias = true;
  const std::string source = program(s).source;
  for (const char* line : {"constexpr long long kChannels = 2147483647;\n", "constexpr Dtype kDtype = kBf16;\n",
                           "constexpr bool kHasBias = true;\n", "constexpr bool kSilu = true;\n",
                           "constexpr int kVector = 1;\n", "constexpr int kBlockThreads = 128;\n",
                           "constexpr int kGroupRows = 4;\n", "constexpr int kRingGroups = 4;\n"}) {
    const std::size_t at = source.find(line);
    CAPTURE(line);
    REQUIRE(at != std::string::npos);
    CHECK(source.find(std::string(line).substr(0, std::string(line).find('=')), at + 1) == std::string::npos);
  }
}

TEST_CASE("the description and the cache's question say what the program is") {
  Specialization s = sample(Pass::kBackward);
  s.dtype = CAKE_DTYPE_FP32;
  s.vector_channels = 2;
  s.activation = CAKE_ACTIVATION_IDENTITY;
  const Program made = program(s, "sm_120");
  const std::map<std::string, std::string> expected = {
      {"channels", "4096"},       {"dtype", "fp32"},    {"bias", "no"},
      {"activation", "identity"}, {"pass", "backward"}, {"vector", "2"},
      {"alignment", "8"},         {"tile", "128x2"},    {"ring", "4x4"}};
  CHECK(made.description == expected);
  const cache::Request request = cache_request(made);
  CHECK(request.name == made.name);
  CHECK(request.digest == made.digest.hex());
  CHECK(request.target == "sm_120");
  CHECK(request.abi_version == CAKEJIT_KERNEL_ABI);
  CHECK(cache::is_library_name(made.name));
}
