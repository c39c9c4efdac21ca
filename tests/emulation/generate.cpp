// Writes what the emulation is compiled from: for each kernel library that the test cases need, the very text that the
// JIT would compile, but for ptx.cuh; and a cache layer that serves these libraries by name, so that nothing asks for a
// CUDA compiler.
//   generate FOLDER FILES     writes FOLDER/libraries_<i>.cpp, i < FILES, and FOLDER/aot
#include <fmt/format.h>
#include <spdlog/sinks/null_sink.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "cache/store.hpp"
#include "kernels/embedded.hpp"
#include "runtime/launch_plan.hpp"
#include "runtime/program.hpp"
#include "runtime/route.hpp"
#include "tests/emulation/cases.hpp"
#include "tests/support/float_types.hpp"
#include "tests/support/tiny_cubin.hpp"

namespace {

using namespace cakejit;
using namespace cakejit::runtime;
using cakejit::emulation::OperationCase;
using test::Slice;

const jit::Target& target() {
  return jit::find_target("sm_90a");
}

// An address as that of the slice's first element: tables are aligned to 256 bytes.
void* address(const OperationCase& operation_case, const Slice& slice) {
  const auto column = static_cast<std::uintptr_t>(slice.first_column);
  return reinterpret_cast<void*>(0x10000 + column * test::bytes_of(operation_case.dtype));
}

Specialization routed(const OperationCase& operation_case, Pass pass) {
  const Problem problem = operation_case.problem(CAKE_DEVICE_CUDA);
  ForwardArgs forward{};
  forward.x = address(operation_case, operation_case.x);
  forward.y = address(operation_case, operation_case.y);
  BackwardArgs backward{};
  backward.x = forward.x;
  backward.dy = address(operation_case, operation_case.dy);
  backward.dx = address(operation_case, operation_case.dx);
  return route(
      {.pass = pass,
       .channels = problem.channels,
       .dtype = problem.dtype,
       .has_bias = problem.bias_dtype != CAKE_DTYPE_NONE,
       .activation = problem.activation,
       .row_alignment = pass == Pass::kForward ? row_alignment(problem, forward) : row_alignment(problem, backward)},
      target());
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the program's text lacks:\n" + from);
  return text.replace(at, from.size(), to);
}

// ptx.cuh as it stands in a program's text.
std::string ptx_text() {
  for (const EmbeddedSource& source : kernels::embedded_sources()) {
    if (source.name == "ptx.cuh") return replaced(std::string(source.text), "#pragma once\n", "");
  }
  throw std::logic_error("ptx.cuh is not embedded");
}

std::string registration(const Specialization& s, const std::string& symbol, std::string_view kernel,
                         std::string_view params, int library) {
  return fmt::format(
      "const bool {0}_added = (cakejit::emulation::add_{0}(\n"
      "    {{.symbol = \"{1}\",\n"
      "     .entry = [](const void* params) {{ {1}(*static_cast<const cakejit_kernels::{2}*>(params)); }},\n"
      "     .params_bytes = sizeof(cakejit_kernels::{2}),\n"
      "     .shared_begin = __start_shared_{3},\n"
      "     .shared_end = __stop_shared_{3}}},\n"
      "    {{.channels = {4}, .element_bytes = {5}, .has_bias = {6}}}), true);\n",
      kernel, symbol, params, library, s.channels, test::bytes_of(s.dtype), s.has_bias);
}

std::string library_text(const Specialization& s, const Program& program, int number) {
  std::string text =
      fmt::format("\n#undef CAKEJIT_SHARED_SECTION\n#define CAKEJIT_SHARED_SECTION \"shared_{}\"\n", number);
  text += fmt::format(
      "extern std::byte __start_shared_{0}[] __attribute__((visibility(\"hidden\")));\n"
      "extern std::byte __stop_shared_{0}[] __attribute__((visibility(\"hidden\")));\n",
      number);
  // A namespace of its own: the same names come with other constants in every library.
  text += fmt::format("namespace library_{} {{\n", number);
  text += replaced(program.source, ptx_text(),
                   "namespace cakejit_kernels { using namespace ::cakejit::emulation::ptx; }\n");
  if (s.pass == Pass::kForward) {
    text += registration(s, program.entry_symbols[0], "forward", "ForwardParams", number);
  } else {
    text += registration(s, program.entry_symbols[0], "backward", "BackwardParams", number);
    text += registration(s, program.entry_symbols[1], "reduce", "ReduceParams", number);
  }
  return text + "}\n";
}

void publish(const cache::Store& store, const Program& program) {
  cache::Entry entry;
  entry.code = cakejit::test::tiny_cubin(program.entry_symbols);
  entry.source = program.source;
  cache::Manifest& m = entry.manifest;
  m.name = program.name;
  m.digest = program.digest.hex();
  m.target = program.target.name;
  m.abi_version = CAKEJIT_KERNEL_ABI;
  m.code_bytes = entry.code.size();
  m.code_checksum = cache::xxh3_128(entry.code).hex();
  m.source_bytes = entry.source.size();
  m.source_checksum = cache::xxh3_128(entry.source).hex();
  m.specialization = program.description;
  m.compiler = "the host's";
  store.publish(entry);
}

// Leaves a file alone that is right already, so that it is not compiled again.
void write(const std::filesystem::path& path, const std::string& text) {
  std::ostringstream old;
  old << std::ifstream(path).rdbuf();
  if (old.str() != text) std::ofstream(path, std::ios::trunc) << text;
}

void generate(const std::filesystem::path& folder, std::size_t files) {
  std::set<Specialization> specializations;
  for (const OperationCase& operation_case : emulation::all_cases()) {
    if (operation_case.tokens() != 0) specializations.insert(routed(operation_case, Pass::kForward));
    specializations.insert(routed(operation_case, Pass::kBackward));
  }
  std::filesystem::remove_all(folder / "aot");
  std::filesystem::create_directories(folder);
  const auto log = std::make_shared<spdlog::logger>("generate", std::make_shared<spdlog::sinks::null_sink_st>());
  const cache::Store store(folder / "aot", cache::Access::kReadWrite, log);
  std::vector<std::string> texts(files,
                                 "#include \"tests/emulation/kernel_view/cuda.hpp\"\n"
                                 "#include \"tests/emulation/kernel_view/ptx.hpp\"\n");
  int number = 0;
  for (const Specialization& specialization : specializations) {
    const Program program = make_program(specialization, target());
    publish(store, program);
    // Neighbours, which are alike, in one file: a change of one kernel leaves the files of the other alone.
    texts[static_cast<std::size_t>(number) * files / specializations.size()] +=
        library_text(specialization, program, number);
    ++number;
  }
  for (std::size_t i = 0; i < files; ++i) write(folder / fmt::format("libraries_{}.cpp", i), texts[i]);
  std::cout << number << " kernel libraries to emulate in " << files << " files\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: generate FOLDER FILES\n";
    return 2;
  }
  try {
    generate(argv[1], std::stoul(argv[2]));
  } catch (const std::exception& error) {
    std::cerr << "generate: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
