#include "jit/compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cakejit/error.hpp"
#include "jit/cubin.hpp"
#include "jit/nvjitlink_job.hpp"
#include "jit/nvrtc_job.hpp"

namespace cakejit::jit {

std::string compiler_label(const Toolchain& toolchain) {
  return fmt::format("NVRTC {}.{}", toolchain.nvrtc_version.major, toolchain.nvrtc_version.minor);
}

namespace {

// The first releases that know the option which turns their hidden cache off; earlier ones refuse it (measured:
// docs/toolchain.md).
constexpr Version kNvrtcNoCache{12, 9};
constexpr Version kNvJitLinkNoCache{12, 5};
// Up to 12.2 nvJitLink refuses -O3 beside -lto, though it is what it does anyway.
constexpr Version kNvJitLinkO3{12, 3};

class Stopwatch {
 public:
  [[nodiscard]] double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string linker_label(const Linker& linker) {
  return fmt::format("nvJitLink {}.{}", linker.version.major, linker.version.minor);
}

bool knows(const Toolchain& toolchain, const Target& target) {
  return std::ranges::find(toolchain.nvrtc_archs, target.arch()) != toolchain.nvrtc_archs.end();
}

constexpr std::string_view kInstall =
    "Install a newer one (pip install nvidia-cuda-nvrtc nvidia-nvjitlink, or the CUDA Toolkit) and set "
    "CAKEJIT_TOOLKIT_PATH to its folder.";

[[noreturn]] void refuse_target(const Toolchain& toolchain, const Target& target) {
  std::string known;
  for (const Target& other : all_targets()) {
    if (knows(toolchain, other)) known += fmt::format("{}{}", known.empty() ? "" : ", ", other.name);
  }
  throw Error(CAKE_STATUS_UNSUPPORTED,
              fmt::format("{} needs NVRTC and nvJitLink {} or later; found are {} ({}) and {} ({}), which build {}. {}",
                          target.name, target.first_nvrtc, compiler_label(toolchain), toolchain.nvrtc_path.string(),
                          linker_label(toolchain.linker), toolchain.linker.path.string(),
                          known.empty() ? "none of this project's targets" : known, kInstall));
}

[[noreturn]] void refuse_target(const Linker& linker, const Target& target) {
  throw Error(CAKE_STATUS_UNSUPPORTED,
              fmt::format("{} needs nvJitLink {} or later; found is {} ({}). {}", target.name, target.first_nvrtc,
                          linker_label(linker), linker.path.string(), kInstall));
}

[[noreturn]] void refuse_code(const std::string& name, const Target& target, const std::string& who,
                              const std::string& what, const std::string& log) {
  throw Error(CAKE_STATUS_COMPILE_FAILED, fmt::format("{}: {} {} for {}.{}{}", name, who, what, target.name,
                                                      log.empty() ? "" : " Its log:\n", log));
}

bool sets_language(const std::string& option) {
  return option.starts_with("-std") || option.starts_with("--std");
}

std::string compile_to_lto_ir(const Toolchain& toolchain, const CompileRequest& request) {
  std::vector<std::string> options = {fmt::format("-arch={}", request.target.compute), "-dlto"};
  // NVRTC 12 refuses a second -std.
  if (std::ranges::none_of(request.compile_options, sets_language)) options.emplace_back("-std=c++20");
  // By itself NVRTC resolves includes in the current folder.
  options.emplace_back("--no-source-include");
  if (toolchain.nvrtc_version >= kNvrtcNoCache) options.emplace_back("--no-cache");
  options.insert(options.end(), request.compile_options.begin(), request.compile_options.end());

  NvrtcJob job(toolchain.nvrtc, request.source, request.name + ".cu");
  if (const NvrtcResult result = job.compile(options); result != kNvrtcSuccess) {
    refuse_code(request.name, request.target, compiler_label(toolchain),
                fmt::format("could not compile it ({})", toolchain.nvrtc.error_string(result)), job.log());
  }
  return job.lto_ir();
}

std::string link_to_cubin(const Linker& linker, const LinkRequest& request, std::string& info_log) {
  std::vector<std::string> options = {fmt::format("-arch={}", request.target.name), "-Xptxas=-v"};
  if (linker.version >= kNvJitLinkNoCache) options.emplace_back("-no-cache");
  options.insert(options.end(), request.link_options.begin(), request.link_options.end());
  if (linker.version < kNvJitLinkO3) std::erase(options, "-O3");
  // Last: up to 12.6 the handle of a create that failed after this option crashes when it is destroyed.
  options.emplace_back("-lto");

  NvJitLinkJob job(linker.nvjitlink);
  NvJitLinkResult result = job.create(options);
  if (result == kNvJitLinkErrorUnrecognizedArch || result == kNvJitLinkErrorUnsupportedArch) {
    refuse_target(linker, request.target);
  }
  if (result == kNvJitLinkSuccess) result = job.link(request.lto_ir, request.name + ".ltoir");
  if (result != kNvJitLinkSuccess) {
    refuse_code(request.name, request.target, linker_label(linker),
                fmt::format("could not link what {} compiled ({}; options {})", request.compiler,
                            nvjitlink_result_name(result), fmt::join(options, " ")),
                job.error_log());
  }
  info_log = job.info_log();
  return job.cubin();
}

void check_kernels(const LinkRequest& request, const std::string& linker, const std::string& cubin) {
  try {
    require_kernels(cubin, request.entry_symbols);
  } catch (const Error& error) {
    refuse_code(request.name, request.target, linker, fmt::format("made a result that is {}", error.what()), "");
  }
}

std::vector<KernelFacts> facts_in_order(const std::vector<std::string>& symbols,
                                        const std::vector<KernelFacts>& facts) {
  std::vector<KernelFacts> ordered;
  for (const std::string& symbol : symbols) {
    const auto found = std::ranges::find(facts, symbol, &KernelFacts::symbol);
    ordered.push_back(found != facts.end() ? *found : KernelFacts{.symbol = symbol});
  }
  return ordered;
}

// What code for a portable target is linked for, to see that it links.
const Target& link_target(const Target& target) {
  if (!target.is_portable()) return target;
  return *std::ranges::find_if(all_targets(),
                               [&](const Target& other) { return portable_target(other).name == target.name; });
}

}  // namespace

CompiledLibrary compile(const Toolchain& toolchain, const CompileRequest& request) {
  if (!knows(toolchain, request.target)) refuse_target(toolchain, request.target);

  CompiledLibrary library;
  library.compiler = compiler_label(toolchain);
  const Stopwatch compile_time;
  library.lto_ir = compile_to_lto_ir(toolchain, request);
  library.compile_ms = compile_time.ms();

  static_cast<LinkedLibrary&>(library) = link(toolchain.linker, {.name = request.name,
                                                              .lto_ir = library.lto_ir,
                                                              .compiler = library.compiler,
                                                              .target = link_target(request.target),
                                                              .link_options = request.link_options,
                                                              .entry_symbols = request.entry_symbols});
  return library;
}

LinkedLibrary link(const Linker& linker, const LinkRequest& request) {
  LinkedLibrary library;
  library.linker = linker_label(linker);
  const Stopwatch link_time;
  std::string info_log;
  library.cubin = link_to_cubin(linker, request, info_log);
  library.link_ms = link_time.ms();

  check_kernels(request, library.linker, library.cubin);
  library.kernels = facts_in_order(request.entry_symbols, parse_ptxas_log(info_log));
  return library;
}

}  // namespace cakejit::jit
