// What the compiler made of the kernels: registers, memory, and the machine code itself.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "jit/cubin.hpp"
#include "tests/kernels/sass.hpp"
#include "tests/kernels/variants.hpp"
#include "tests/runtime/samples.hpp"

using namespace cakejit;
using namespace cakejit::runtime;
using namespace cakejit::runtime::testing;

namespace {

constexpr int kUnrolledRows = 4;  // of the loop that most tokens go through
constexpr int kTaps = 4;

bool knows(const jit::Toolchain& toolchain, const jit::Target& target) {
  return std::ranges::count(toolchain.nvrtc_archs, target.arch()) > 0;
}

// Compiled once for all cases of this program.
const std::vector<Built>& built_libraries(const jit::Toolchain& toolchain) {
  static const std::vector<Built> kBuilt = [&] {
    std::vector<Variant> variants;
    for (const jit::Target& target : jit::all_targets()) {
      if (!knows(toolchain, target)) continue;
      const auto more = target.name == "sm_90a" ? every_route(target) : main_routes(target);
      variants.insert(variants.end(), more.begin(), more.end());
    }
    return build_all(variants, toolchain);
  }();
  return kBuilt;
}

int ring_bytes(const Variant& variant) {
  const Specialization& s = variant.specialization;
  const int rings = s.pass == Pass::kForward ? 1 : 2;  // x; x and dy
  return rings * s.ring_groups * s.group_rows * s.block_threads * variant.packet_bytes();
}

// kReduceColumns x kReduceRows compensated sums of two floats.
int reduce_bytes(const Program& program) {
  return source_constant(program.source, "kReduceColumns") * source_constant(program.source, "kReduceRows") * 8;
}

void check_facts(const Built& built) {
  CAPTURE(built.variant.text());
  CHECK(built.error.empty());
  if (!built.error.empty()) return;
  const auto& entries = built.entry.manifest.entries;
  REQUIRE(entries.size() == built.program.entry_symbols.size());
  std::vector<std::string> symbols = built.program.entry_symbols;
  std::ranges::sort(symbols);
  CHECK(jit::cubin_kernels(built.entry.code) == symbols);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    CAPTURE(entries[i].symbol);
    CHECK(entries[i].symbol == built.program.entry_symbols[i]);
    CHECK(entries[i].registers > 0);
    CHECK(entries[i].registers <= 128);
    CHECK(entries[i].stack_bytes == 0);
    CHECK(entries[i].spill_store_bytes == 0);
    CHECK(entries[i].spill_load_bytes == 0);
    CHECK(entries[i].shared_bytes == (i == 0 ? ring_bytes(built.variant) : reduce_bytes(built.program)));
  }
}

// The forward or backward kernel. Loops are unrolled by whole rows, so instruction counts are multiples of a row's.
void check_main_kernel(const Variant& variant, const Instructions& code) {
  const Specialization& s = variant.specialization;
  const bool backward = s.pass == Pass::kBackward;
  const int packet = variant.packet_bytes();
  CAPTURE(code.text());
  // Rows come in through asynchronous copies of the packet's width; 2 bytes are too few for one.
  CHECK(code.count("LDGSTS") == code.count("LDGSTS", packet));
  const int copies = packet == 2 ? code.count("STS", 2) : code.count("LDGSTS", packet);
  CHECK(copies >= 4 * kUnrolledRows * (backward ? 2 : 1));
  if (packet == 2) CHECK(code.count("LDG", 2) >= copies);
  if (packet == 2) CHECK(code.count("LDGSTS") == 0);
  // They are read from shared memory in whole packets, and leave in whole packets.
  CHECK(code.count("LDS") == code.count("LDS", packet));
  CHECK(code.count("LDS") >= (kUnrolledRows + 1) * (backward ? 2 : 1));
  const int sum_bytes = 4 * std::min(s.vector_channels, 4);
  const int sum_stores = backward ? kTaps + (s.has_bias ? 1 : 0) : 0;
  if (packet == sum_bytes) {
    CHECK(code.count("STG", packet) >= kUnrolledRows + 1 + sum_stores);
    CHECK(code.count("STG") == code.count("STG", packet));
  } else {
    CHECK(code.count("STG", packet) >= kUnrolledRows + 1);
    CHECK(code.count("STG", sum_bytes) == sum_stores);
    CHECK(code.count("STG") == code.count("STG", packet) + sum_stores);
  }
  // One exponential and one reciprocal for each element, and not one more.
  const int rows = s.activation == CAKE_ACTIVATION_SILU ? code.count("MUFU.EX2") / s.vector_channels : 0;
  CHECK(code.count("MUFU.EX2") == rows * s.vector_channels);
  CHECK(code.count("MUFU.RCP") == rows * s.vector_channels);
  CHECK(code.count("MUFU") == 2 * rows * s.vector_channels);
  if (s.activation == CAKE_ACTIVATION_SILU) CHECK(rows >= kUnrolledRows + 1);
  CHECK(code.count("BAR") == 0);  // each thread has its own ring
}

void check_code(const Built& built, const std::map<std::string, Instructions>& kernels) {
  CAPTURE(built.variant.text());
  REQUIRE(kernels.size() == built.program.entry_symbols.size());
  for (const std::string& symbol : built.program.entry_symbols) {
    CAPTURE(symbol);
    REQUIRE(kernels.contains(symbol));
    const Instructions& code = kernels.at(symbol);
    CHECK_FALSE(code.empty());
    CHECK(code.count("LDL") + code.count("STL") == 0);  // local memory: spills and stack
    // Nothing is added up in an order that chance decides.
    CHECK(code.count("RED") + code.count("ATOM") + code.count("ATOMG") + code.count("ATOMS") == 0);
  }
  check_main_kernel(built.variant, kernels.at(built.program.entry_symbols[0]));
  if (built.variant.specialization.pass == Pass::kBackward && built.variant.target->compute_major >= 9) {
    // griddepcontrol.wait: the reduction may start early, but not read early.
    CHECK(kernels.at(built.program.entry_symbols[1]).count("ACQBULK") == 1);
  }
}

void check_all_code(const std::vector<Built>& libraries, const std::string& nvdisasm) {
  std::vector<std::map<std::string, Instructions>> kernels(libraries.size());
  std::vector<std::string> errors(libraries.size());
  in_two_threads(libraries.size(), [&](std::size_t i) {
    try {
      kernels[i] = disassemble(nvdisasm, libraries[i].entry.code);
    } catch (const std::exception& error) {
      errors[i] = error.what();
    }
  });
  std::set<std::string_view> undecodable;
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    if (errors[i].find("Cannot decode architecture") != std::string::npos) {
      undecodable.insert(libraries[i].variant.target->name);
      continue;
    }
    CAPTURE(errors[i]);
    CHECK(errors[i].empty());
    if (errors[i].empty()) check_code(libraries[i], kernels[i]);
  }
  for (const std::string_view target : undecodable) {
    WARN("SKIPPED: " << nvdisasm << " is too old to read the machine code of " << target);
  }
}

const char* disassembler() {
  const char* path = std::getenv("CAKEJIT_TEST_NVDISASM");
  if (path == nullptr) {
    WARN("SKIPPED: set CAKEJIT_TEST_NVDISASM to an nvdisasm to look at the machine code itself");
  }
  return path;
}

}  // namespace

TEST_CASE("every route of every target compiles without spills or stack, in 128 registers and its ring's memory") {
  const auto toolchain = toolchain_at_hand();
  if (!toolchain) return;
  for (const jit::Target& target : jit::all_targets()) {
    if (!knows(*toolchain, target)) WARN("SKIPPED: this toolchain does not know " << target.name);
  }
  for (const Built& built : built_libraries(*toolchain)) check_facts(built);
}

TEST_CASE("the machine code has no local memory, and moves each row in packets of the route's width") {
  const char* nvdisasm = disassembler();
  const auto toolchain = toolchain_at_hand();
  if (nvdisasm == nullptr || !toolchain) return;
  check_all_code(built_libraries(*toolchain), nvdisasm);
}

TEST_CASE("with a newer toolkit, the main routes compile for sm_107a in the same bounds") {
  const auto toolchain = newest_toolchain();
  if (!toolchain) return;
  const jit::Target& target = jit::find_target("sm_107a");
  REQUIRE(knows(*toolchain, target));
  const std::vector<Built> libraries = build_all(main_routes(target), *toolchain);
  for (const Built& built : libraries) check_facts(built);
  if (const char* nvdisasm = disassembler()) check_all_code(libraries, nvdisasm);
}

TEST_CASE("instructions are counted per kernel, by opcode and width, without ptxas' filler loads") {
  const auto kernels = parse_sass(R"(
	.section	.text.one,"ax",@progbits
.text.one:
        /*0390*/              @!PT LDS RZ, [RZ] ;
        /*03c0*/              @!P1 LDGSTS.E.64 [R5], desc[UR6][R2.64] ;
        /*1b80*/                   LDS.64 R32, [R52+0x400] ;
        /*1b90*/                   MUFU.EX2 R50, R50 ;
        /*1ba0*/                   STG.E desc[UR6][R2.64], R30 ;
        /*1bb0*/                   LDGDEPBAR ;
.text.two:
        /*0000*/                   STG.E.U16 desc[UR6][R2.64], R30 ;
)");
  REQUIRE(kernels.size() == 2);
  const Instructions& one = kernels.at("one");
  CHECK(one.count("LDS") == 1);
  CHECK(one.count("LDS", 8) == 1);
  CHECK(one.count("LDGSTS", 8) == 1);
  CHECK(one.count("LDG") == 0);
  CHECK(one.count("STG", 4) == 1);
  CHECK(one.count("MUFU") == 1);
  CHECK(one.count("MUFU.EX2") == 1);
  CHECK(one.count("LDGDEPBAR") == 1);
  CHECK(kernels.at("two").count("STG", 2) == 1);
}
