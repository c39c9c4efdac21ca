#include "jit/toolchain.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <system_error>

#include "cakejit/error.hpp"
#include "jit/toolchain_places.hpp"

namespace cakejit::jit {
namespace {

namespace fs = std::filesystem;

// Major releases tried, newest first.
constexpr int kMajors[] = {13, 12};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(CAKE_STATUS_TOOLCHAIN_MISSING, why);
}

std::string to_text(Version version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

std::string soname(const char* library, int major) {
  return fmt::format("lib{}.so.{}", library, major);
}

// Each unload of NVRTC or nvJitLink leaves about 70 KB allocated for good, so that once opened they stay loaded.
std::shared_ptr<DynamicLibrary> open_library(const std::string& name) {
  auto library = std::make_shared<DynamicLibrary>(name, CAKE_STATUS_TOOLCHAIN_MISSING);
  if (void* pinned = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE)) dlclose(pinned);
  return library;
}

// The file behind every symlink: NVRTC looks for its builtins beside the name it was opened by.
fs::path real_path(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// NVRTC opens this library by its bare name in the first compile; held open from here, it is found then, and a missing
// one is told now instead of in a compile's log.
std::shared_ptr<DynamicLibrary> open_builtins(const fs::path& nvrtc, Version version) {
  const std::string name = fmt::format("libnvrtc-builtins.so.{}", to_text(version));
  const fs::path beside = nvrtc.parent_path() / name;
  if (is_file(beside)) return open_library(beside.string());
  try {
    return open_library(name);
  } catch (const Error&) {
    refuse(fmt::format("{} has no {} beside it", nvrtc.string(), name));
  }
}

std::vector<int> supported_archs(const NvrtcApi& api) {
  int count = 0;
  if (api.num_supported_archs(&count) != kNvrtcSuccess || count < 0) return {};
  std::vector<int> archs(static_cast<std::size_t>(count));
  if (api.supported_archs(archs.data()) != kNvrtcSuccess) return {};
  return archs;
}

// The three functions open by path or by bare name, and throw Error(TOOLCHAIN_MISSING) with the one thing that is wrong.
Linker open_nvjitlink(const std::string& name, int major) {
  const auto library = open_library(name);
  Linker linker;
  linker.nvjitlink = load_nvjitlink(*library, major);
  linker.version = nvjitlink_version(linker.nvjitlink, *library, major);
  linker.path = real_path(library->path());
  linker.library = library;
  return linker;
}

void open_nvrtc(Toolchain& toolchain, const std::string& name) {
  const auto nvrtc = open_library(name);
  toolchain.nvrtc = load_nvrtc(*nvrtc);
  toolchain.nvrtc_version = nvrtc_version(toolchain.nvrtc);
  toolchain.nvrtc_path = real_path(nvrtc->path());
  toolchain.nvrtc_archs = supported_archs(toolchain.nvrtc);
  toolchain.libraries = {open_builtins(toolchain.nvrtc_path, toolchain.nvrtc_version), nvrtc};
}

std::shared_ptr<const Toolchain> open_pair(const std::string& nvrtc_name, const std::string& nvjitlink_name,
                                           int major) {
  auto toolchain = std::make_shared<Toolchain>();
  open_nvrtc(*toolchain, nvrtc_name);
  toolchain->linker = open_nvjitlink(nvjitlink_name, major);
  const Linker& linker = toolchain->linker;
  if (linker.version.major != toolchain->nvrtc_version.major || linker.version < toolchain->nvrtc_version) {
    refuse(
        fmt::format("{} is nvJitLink {}, which can't link what {} (NVRTC {}) compiles; it must be of the same major "
                    "release and not older",
                    linker.path.string(), to_text(linker.version), toolchain->nvrtc_path.string(),
                    to_text(toolchain->nvrtc_version)));
  }
  return toolchain;
}

// What is looked for. `open` is tried with names or paths until it does not throw.
struct Wanted {
  bool nvrtc = true;  // beside nvJitLink
  std::function<void(const std::string& nvrtc, const std::string& nvjitlink, int major)> open;
};

// Collects what was wrong where, until something is right.
class Search {
 public:
  explicit Search(const Wanted& wanted) : wanted_(wanted) {}

  void run(const ToolchainSearch& places) {
    if (!find(places)) fail();
  }

 private:
  bool find(const ToolchainSearch& places) {
    if (!places.explicit_path.empty()) return try_root(places.explicit_path);
    if (places.loader_path && try_loader()) return true;
    std::vector<fs::path> roots = places.hints;
    for (const fs::path& parent : places.toolkit_parents) {
      for (fs::path& root : toolkit_roots(parent)) roots.push_back(std::move(root));
    }
    return std::ranges::any_of(roots, [this](const fs::path& root) { return try_root(root); });
  }

  // Names resolved by the loader: LD_LIBRARY_PATH, ld.so.cache, and libraries that this process has open already.
  bool try_loader() {
    return std::ranges::any_of(kMajors, [this](int major) {
      return try_open("the loader's search path", soname("nvrtc", major), soname("nvJitLink", major), major);
    });
  }

  bool try_root(const fs::path& root) {
    bool any = false;
    for (const ToolchainPlace& place : toolchain_places(root)) {
      for (const int major : kMajors) {
        const fs::path nvrtc = place.nvrtc / soname("nvrtc", major);
        const fs::path nvjitlink = place.nvjitlink / soname("nvJitLink", major);
        if (!is_file(wanted_.nvrtc ? nvrtc : nvjitlink)) continue;
        any = true;
        if (!is_file(nvjitlink)) {
          note(root.string(), fmt::format("{} is there, {} is not", nvrtc.string(), nvjitlink.string()));
          continue;
        }
        // The real paths, so that a library opened through a symlink finds its neighbours.
        if (try_open(root.string(), real_path(nvrtc).string(), real_path(nvjitlink).string(), major)) return true;
      }
    }
    if (!any) note(root.string(), describe_nothing(root));
    return false;
  }

  bool try_open(const std::string& where, const std::string& nvrtc, const std::string& nvjitlink, int major) {
    try {
      wanted_.open(nvrtc, nvjitlink, major);
      return true;
    } catch (const Error& error) {
      note(where, error.what());
      return false;
    }
  }

  [[nodiscard]] std::string describe_nothing(const fs::path& root) const {
    std::error_code error;
    const fs::file_status status = fs::status(root, error);
    if (error && status.type() != fs::file_type::not_found) return error.message();
    if (status.type() == fs::file_type::not_found) return "no such folder";
    if (status.type() != fs::file_type::directory) return "not a folder";
    const char* library = wanted_.nvrtc ? "nvrtc" : "nvJitLink";
    return fmt::format(
        "no {} or {}, neither in it nor in its lib64, lib, targets/*/lib, lib/python3*/site-packages/nvidia/*/lib",
        soname(library, kMajors[0]), soname(library, kMajors[1]));
  }

  [[noreturn]] void fail() const {
    refuse(fmt::format(
        "no usable CUDA {} (12.0 or later). Looked at:{}\n"
        "Install one: pip install nvidia-cuda-nvrtc nvidia-nvjitlink, or the CUDA Toolkit. If it lies elsewhere, set "
        "CAKEJIT_TOOLKIT_PATH to its folder. A cache prebuilt with cake-aot for this GPU needs none.",
        wanted_.nvrtc ? "compiler (NVRTC with nvJitLink)" : "linker (nvJitLink)",
        notes_.empty() ? "\n  nothing: no place to look was given" : notes_));
  }

  void note(const std::string& where, const std::string& what) { notes_ += fmt::format("\n  {}: {}", where, what); }

  const Wanted& wanted_;
  std::string notes_;
};

}  // namespace

std::shared_ptr<const Toolchain> open_toolchain(const ToolchainSearch& search) {
  std::shared_ptr<const Toolchain> toolchain;
  const Wanted wanted{true, [&](const std::string& nvrtc, const std::string& nvjitlink, int major) {
                        toolchain = open_pair(nvrtc, nvjitlink, major);
                      }};
  Search(wanted).run(search);
  return toolchain;
}

std::shared_ptr<const Linker> open_linker(const ToolchainSearch& search) {
  std::shared_ptr<const Linker> linker;
  const Wanted wanted{false, [&](const std::string&, const std::string& nvjitlink, int major) {
                        linker = std::make_shared<const Linker>(open_nvjitlink(nvjitlink, major));
                      }};
  Search(wanted).run(search);
  return linker;
}

}  // namespace cakejit::jit
