#include "jit/compile.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

#include "cakejit/error.hpp"
#include "tests/jit/toolkit_at_hand.hpp"

using namespace cakejit;
using namespace cakejit::jit;
using cakejit::jit::testing::sample_request;
using cakejit::jit::testing::toolkit_at_hand;

namespace {

bool knows(const Toolchain& toolchain, const Target& target) {
  return std::ranges::count(toolchain.nvrtc_archs, target.arch()) > 0;
}

// The message of the error that the compile must end in.
std::string failure(const Toolchain& toolchain, const CompileRequest& request, cake_status status) {
  try {
    (void)compile(toolchain, request);
  } catch (const Error& error) {
    CHECK(error.status() == status);
    return error.what();
  }
  FAIL("compiled");
  return {};
}

}  // namespace

TEST_CASE("each target the toolchain knows is compiled and linked; each other is refused with what is needed") {
  const auto toolchain = toolkit_at_hand();
  if (!toolchain) return;
  for (const Target& target : all_targets()) {
    CAPTURE(target.name);
    const CompileRequest request = sample_request("every_target", std::string(target.name));
    if (knows(*toolchain, target)) {
      const CompiledLibrary library = compile(*toolchain, request);
      CHECK(library.cubin.substr(0, 4) ==
            "\x7f"
            "ELF");
      CHECK(library.lto_ir.size() > 0);
      REQUIRE(library.kernels.size() == 2);
      CHECK(library.kernels[0].symbol == "every_target_forward");
      CHECK(library.kernels[0].shared_bytes == 1024);
      CHECK(library.kernels[1].stack_bytes == 400);
      for (const KernelFacts& kernel : library.kernels) {
        CHECK(kernel.registers > 0);
        CHECK(kernel.registers <= 255);
      }
    } else {
      const std::string message = failure(*toolchain, request, CAKE_STATUS_UNSUPPORTED);
      CHECK_THAT(message, Catch::Contains(std::string(target.name) + " needs NVRTC") &&
                              Catch::Contains(std::string(target.first_nvrtc)) && Catch::Contains("sm_80, sm_86") &&
                              Catch::Contains(toolchain->nvrtc_path.string()));
    }
  }
}

TEST_CASE("the toolchain knows a target exactly from the release that the table names") {
  const auto toolchain = toolkit_at_hand();
  if (!toolchain) return;
  for (const Target& target : all_targets()) {
    CAPTURE(target.name);
    Version first;
    REQUIRE(std::sscanf(std::string(target.first_nvrtc).c_str(), "%d.%d", &first.major, &first.minor) == 2);
    CHECK(knows(*toolchain, target) == (toolchain->nvrtc_version >= first));
  }
}

TEST_CASE("a newer toolkit compiles for sm_107a, for its own compute level") {
  const char* path = std::getenv("CAKEJIT_TEST_NEW_TOOLKIT");
  if (path == nullptr) {
    WARN("SKIPPED: set CAKEJIT_TEST_NEW_TOOLKIT to a toolkit of 13.4 or later to compile for sm_107a");
    return;
  }
  const auto toolchain = open_toolchain({.explicit_path = path});
  const CompiledLibrary library = compile(*toolchain, sample_request("newest", "sm_107a"));
  CHECK(library.cubin.size() > 0);
  CHECK(library.kernels[0].registers > 0);
}

TEST_CASE("broken source fails with the compiler's log, the name and the line") {
  const auto toolchain = toolkit_at_hand();
  if (!toolchain) return;
  CompileRequest request = sample_request("broken", "sm_80");
  request.source += "\nnot_a_type x;\n";
  const std::string message = failure(*toolchain, request, CAKE_STATUS_COMPILE_FAILED);
  CHECK_THAT(message, Catch::StartsWith("broken: NVRTC ") && Catch::Contains("broken.cu(19): error") &&
                          Catch::Contains("not_a_type") && Catch::Contains("NVRTC_ERROR_COMPILATION"));
}

TEST_CASE("an undefined function fails in the linker, with its log") {
  const auto toolchain = toolkit_at_hand();
  if (!toolchain) return;
  CompileRequest request = sample_request("undefined", "sm_80");
  request.source +=
      "\nextern \"C\" __device__ int missing(int);"
      "extern \"C\" __global__ void caller(int* x) { *x = missing(*x); }\n";
  request.compile_options = {"-rdc=true"};
  const std::string message = failure(*toolchain, request, CAKE_STATUS_COMPILE_FAILED);
  CHECK_THAT(message, Catch::StartsWith("undefined: nvJitLink ") && Catch::Contains("missing"));
}

TEST_CASE("options the tools don't know fail, each with the tool's name") {
  const auto toolchain = toolkit_at_hand();
  if (!toolchain) return;
  CompileRequest request = sample_request("options", "sm_80");
  request.compile_options = {"--no-such-option"};
  CHECK_THAT(failure(*toolchain, request, CAKE_STATUS_COMPILE_FAILED), Catch::Contains("--no-such-option"));
  request.compile_options = {};
  request.link_options = {"-no-such-option"};
  CHECK_THAT(failure(*toolchain, request, CAKE_STATUS_COMPILE_FAILED),
             Catch::Contains("unrecognized option: -no-such-option"));
}

TEST_CASE("a library without one of its kernels fails with the kernel and what is there") {
  const auto toolchain = toolkit_at_hand();
  if (!toolchain) return;
  CompileRequest request = sample_request("lacking", "sm_80");
  request.entry_symbols.emplace_back("lacking_backward");
  CHECK_THAT(
      failure(*toolchain, request, CAKE_STATUS_COMPILE_FAILED),
      Catch::Contains("without the kernel lacking_backward") && Catch::Contains("lacking_forward, lacking_reduce"));
}

TEST_CASE("the highest optimisation level may be asked of every linker, and is what it does anyway") {
  const auto toolchain = toolkit_at_hand();
  if (!toolchain) return;
  CompileRequest request = sample_request("optimised", "sm_80");
  const CompiledLibrary plain = compile(*toolchain, request);
  request.link_options = {"-O3"};
  CHECK(compile(*toolchain, request).kernels == plain.kernels);
}

TEST_CASE("no file is included, not even from the current folder") {
  const auto toolchain = toolkit_at_hand();
  if (!toolchain) return;
  CompileRequest request = sample_request("including", "sm_80");
  request.source = "#include \"CMakeCache.txt\"\n" + request.source;
  CHECK_THAT(failure(*toolchain, request, CAKE_STATUS_COMPILE_FAILED), Catch::Contains("could not open source file"));
}

TEST_CASE("a language level among the options replaces C++20") {
  const auto toolchain = toolkit_at_hand();
  if (!toolchain) return;
  CompileRequest request = sample_request("language", "sm_80");
  request.source += "\nstatic_assert(__cplusplus > 201703L);\n";
  CHECK_NOTHROW(compile(*toolchain, request));
  request.compile_options = {"--std=c++17"};
  CHECK_THAT(failure(*toolchain, request, CAKE_STATUS_COMPILE_FAILED), Catch::Contains("static assertion failed"));
}

TEST_CASE("the same request gives the same bytes, and the file's name doesn't reach the cubin") {
  const auto toolchain = toolkit_at_hand();
  if (!toolchain) return;
  CompileRequest request = sample_request("same", "sm_90a");
  const CompiledLibrary first = compile(*toolchain, request);
  const CompiledLibrary second = compile(*toolchain, request);
  CHECK((first.cubin == second.cubin));
  CHECK((first.lto_ir == second.lto_ir));
  CHECK(first.kernels == second.kernels);
  request.name = "another_name_of_another_length";
  const CompiledLibrary renamed = compile(*toolchain, request);
  // Up to 12.2 NVRTC puts the file's name into the symbols of its built-in header's constants.
  if (toolchain->nvrtc_version >= Version{12, 3}) CHECK((renamed.cubin == first.cubin));
  CHECK(renamed.kernels == first.kernels);
}

TEST_CASE("eight threads compile at once and get what one thread gets") {
  const auto toolchain = toolkit_at_hand();
  if (!toolchain) return;
  const CompiledLibrary expected = compile(*toolchain, sample_request("parallel", "sm_90a"));
  std::vector<CompiledLibrary> libraries(8);
  std::vector<std::thread> threads;
  for (CompiledLibrary& library : libraries) {
    threads.emplace_back([&] { library = compile(*toolchain, sample_request("parallel", "sm_90a")); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const CompiledLibrary& library : libraries) {
    CHECK((library.cubin == expected.cubin));
    CHECK((library.lto_ir == expected.lto_ir));
  }
}
