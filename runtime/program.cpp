#include "runtime/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

#include "cakejit/error.hpp"
#include "jit/cubin.hpp"
#include "kernels/embedded.hpp"

namespace cakejit::runtime {
namespace {

constexpr std::string_view kNamePrefix = "cake_causal_conv1d_det_train_";
constexpr std::string_view kSpecializationFile = "specialization.cuh";

struct PassSource {
  std::string_view file;
  std::vector<std::string_view> entry_suffixes;  // entry i stands in the source as CAKEJIT_ENTRY_<i>
};

PassSource pass_source(Pass pass) {
  if (pass == Pass::kForward) return {"forward.cu", {"forward"}};
  return {"backward.cu", {"backward", "reduce"}};
}

std::string_view embedded_text(std::string_view name) {
  for (const auto& source : kernels::embedded_sources()) {
    if (source.name == name) return source.text;
  }
  throw Error(CAKE_STATUS_INTERNAL, fmt::format("kernel source \"{}\" is not embedded in this library", name));
}

std::string_view dtype_constant(cake_dtype dtype) {
  switch (dtype) {
    case CAKE_DTYPE_BF16: return "kBf16";
    case CAKE_DTYPE_FP16: return "kFp16";
    case CAKE_DTYPE_FP32: return "kFp32";
    default: break;
  }
  throw Error(CAKE_STATUS_INTERNAL, fmt::format("no kernel for dtype code {}", static_cast<int>(dtype)));
}

std::string_view dtype_label(cake_dtype dtype) {
  return dtype == CAKE_DTYPE_BF16 ? "bf16" : dtype == CAKE_DTYPE_FP16 ? "fp16" : "fp32";
}

// The text that takes the place of kernels/specialization.cuh.
std::string specialization_text(const Specialization& s) {
  return fmt::format(
      "namespace cakejit_kernels {{\n"
      "constexpr long long kChannels = {};\n"
      "constexpr Dtype kDtype = {};\n"
      "constexpr bool kHasBias = {};\n"
      "constexpr bool kSilu = {};\n"
      "constexpr int kVector = {};\n"
      "constexpr int kBlockThreads = {};\n"
      "constexpr int kGroupRows = {};\n"
      "constexpr int kRingGroups = {};\n"
      "}}\n",
      s.channels, dtype_constant(s.dtype), s.has_bias, s.activation == CAKE_ACTIVATION_SILU, s.vector_channels,
      s.block_threads, s.group_rows, s.ring_groups);
}

// Puts included files in the place of their #include lines, each once, so that the text needs no file to compile.
class SourceAssembler {
 public:
  explicit SourceAssembler(std::string specialization) : specialization_(std::move(specialization)) {}

  std::string assemble(std::string_view file) {
    append(file);
    return std::move(text_);
  }

 private:
  void append(std::string_view file) {
    if (!seen_.insert(file).second) return;
    std::string_view rest = embedded_text(file);
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
      append_line(rest.substr(0, end), file == kSpecializationFile);
      rest.remove_prefix(end);
    }
    if (file == kSpecializationFile) text_ += specialization_;
  }

  void append_line(std::string_view line, bool includes_only) {
    constexpr std::string_view kInclude = "#include \"";
    if (line.starts_with(kInclude)) {
      line.remove_prefix(kInclude.size());
      append(line.substr(0, line.find('"')));
    } else if (!includes_only && !line.starts_with("#pragma once")) {
      text_ += line;
    }
  }

  std::string specialization_;
  std::set<std::string_view> seen_;
  std::string text_;
};

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string sorted_lines(std::vector<std::string> values) {
  std::sort(values.begin(), values.end());
  return fmt::format("{}", fmt::join(values, "\n"));
}

std::map<std::string, std::string> describe(const Specialization& s) {
  return {{"channels", std::to_string(s.channels)},
          {"dtype", std::string(dtype_label(s.dtype))},
          {"bias", s.has_bias ? "yes" : "no"},
          {"activation", s.activation == CAKE_ACTIVATION_SILU ? "silu" : "identity"},
          {"pass", s.pass == Pass::kForward ? "forward" : "backward"},
          {"vector", std::to_string(s.vector_channels)},
          {"alignment", std::to_string(s.vector_channels * (s.dtype == CAKE_DTYPE_FP32 ? 4 : 2))},
          {"tile", fmt::format("{}x{}", s.block_threads, s.vector_channels)},
          {"ring", fmt::format("{}x{}", s.ring_groups, s.group_rows)}};
}

cache::Entry new_entry(const Program& program) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  cache::Entry entry;
  cache::Manifest& manifest = entry.manifest;
  manifest.name = program.name;
  manifest.digest = program.digest.hex();
  manifest.target = program.target.name;
  manifest.abi_version = CAKEJIT_KERNEL_ABI;
  manifest.code_kind = program.target.is_portable() ? cache::CodeKind::kLtoIr : cache::CodeKind::kCubin;
  manifest.specialization = program.description;
  manifest.compile_options = program.compile_options;
  manifest.link_options = program.link_options;
  manifest.created_unix_s = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  return entry;
}

void take(cache::Entry& entry, jit::LinkedLibrary&& library) {
  entry.code = std::move(library.cubin);
  entry.manifest.linker = std::move(library.linker);
  entry.manifest.link_ms = library.link_ms;
  for (jit::KernelFacts& kernel : library.kernels) {
    entry.manifest.entries.push_back({.symbol = std::move(kernel.symbol),
                                      .registers = kernel.registers,
                                      .shared_bytes = kernel.shared_bytes,
                                      .stack_bytes = kernel.stack_bytes,
                                      .spill_store_bytes = kernel.spill_store_bytes,
                                      .spill_load_bytes = kernel.spill_load_bytes});
  }
}

// With the sizes and checksums of what the entry holds.
cache::Entry sealed(cache::Entry entry) {
  entry.manifest.code_bytes = entry.code.size();
  entry.manifest.code_checksum = cache::xxh3_128(entry.code).hex();
  entry.manifest.source_bytes = entry.source.size();
  entry.manifest.source_checksum = cache::xxh3_128(entry.source).hex();
  return entry;
}

}  // namespace

Program make_program(const Specialization& specialization, const jit::Target& target) {
  const PassSource pass = pass_source(specialization.pass);
  std::string source = SourceAssembler(specialization_text(specialization)).assemble(pass.file);
  const std::vector<std::string> compile_options = {"-std=c++20"};
  // A portable library is linked later, with the options of the program that it is linked for.
  const std::vector<std::string> link_options =
      target.is_portable() ? std::vector<std::string>{} : std::vector<std::string>{"-O3"};

  // The source is hashed before its entry points are named: their names carry the digest.
  cache::KeyRecord key;
  key.add("source", source);
  key.add("target", target.name);
  key.add("compile_options", sorted_lines(compile_options));
  key.add("link_options", sorted_lines(link_options));
  key.add("abi", std::to_string(CAKEJIT_KERNEL_ABI));
  const cache::Digest digest = key.digest();

  std::string name = fmt::format("{}{}", kNamePrefix, digest.hex());
  std::vector<std::string> symbols;
  for (size_t i = 0; i < pass.entry_suffixes.size(); ++i) {
    symbols.push_back(fmt::format("{}_{}", name, pass.entry_suffixes[i]));
    source = replace_all(std::move(source), fmt::format("CAKEJIT_ENTRY_{}", i), symbols.back());
  }
  return {.name = std::move(name),
          .digest = digest,
          .key = std::move(key),
          .target = target,
          .specialization = specialization,
          .source = std::move(source),
          .entry_symbols = std::move(symbols),
          .compile_options = compile_options,
          .link_options = link_options,
          .description = describe(specialization)};
}

Program portable_program(const Program& program) {
  return make_program(program.specialization, jit::portable_target(program.target));
}

cache::Request cache_request(const Program& program) {
  const bool portable = program.target.is_portable();
  return {.name = program.name,
          .digest = program.digest.hex(),
          .target = std::string(program.target.name),
          .abi_version = CAKEJIT_KERNEL_ABI,
          .code_kind = portable ? cache::CodeKind::kLtoIr : cache::CodeKind::kCubin,
          .specialization = program.description,
          .check = [program, portable](const cache::Entry& entry) {
            const auto symbols = kernel_symbols(program, entry.manifest);
            if (!portable) jit::require_kernels(entry.code, symbols);
          }};
}

cache::Entry build_entry(const Program& program, const jit::Toolchain& toolchain) {
  jit::CompiledLibrary library = jit::compile(toolchain, {.name = program.name,
                                                          .source = program.source,
                                                          .target = program.target,
                                                          .compile_options = program.compile_options,
                                                          .link_options = program.link_options,
                                                          .entry_symbols = program.entry_symbols});
  cache::Entry entry = new_entry(program);
  cache::Manifest& manifest = entry.manifest;
  manifest.compiler = library.compiler;
  manifest.compile_ms = library.compile_ms;
  entry.source = program.source;
  if (program.target.is_portable()) {
    for (const std::string& symbol : program.entry_symbols) manifest.entries.push_back({.symbol = symbol});
    entry.code = std::move(library.lto_ir);
  } else {
    take(entry, std::move(library));
  }
  return sealed(std::move(entry));
}

cache::Entry finalize_entry(const Program& program, const cache::Entry& portable, const jit::Linker& linker) {
  cache::Entry entry = new_entry(program);
  entry.manifest.derived_from = portable.manifest.name;
  entry.manifest.compiler = portable.manifest.compiler;
  take(entry, jit::link(linker, {.name = program.name,
                                 .lto_ir = portable.code,
                                 .compiler = portable.manifest.compiler,
                                 .target = program.target,
                                 .link_options = program.link_options,
                                 .entry_symbols = kernel_symbols(program, entry.manifest)}));
  return sealed(std::move(entry));
}

std::vector<std::string> kernel_symbols(const Program& program, const cache::Manifest& manifest) {
  if (manifest.derived_from.empty()) return program.entry_symbols;
  Program portable = portable_program(program);
  if (manifest.derived_from == portable.name) return std::move(portable.entry_symbols);
  throw Error(CAKE_STATUS_CACHE, fmt::format("it was linked from {}, which is not this program's portable library ({})",
                                             manifest.derived_from, portable.name));
}

}  // namespace cakejit::runtime
