#include "jit/toolchain.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

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

// Opens the pair by path or by bare name. Throws Error(TOOLCHAIN_MISSING) with the one thing that is wrong.
std::shared_ptr<const Toolchain> open_pair(const std::string& nvrtc_name, const std::string& nvjitlink_name,
                                           int major) {
  auto toolchain = std::make_shared<Toolchain>();
  const auto nvrtc = open_library(nvrtc_name);
  toolchain->nvrtc = load_nvrtc(*nvrtc);
  toolchain->nvrtc_version = nvrtc_version(toolchain->nvrtc);
  toolchain->nvrtc_path = real_path(nvrtc->path());
  toolchain->nvrtc_archs = supported_archs(toolchain->nvrtc);
  const auto builtins = open_builtins(toolchain->nvrtc_path, toolchain->nvrtc_version);

  const auto nvjitlink = open_library(nvjitlink_name);
  toolchain->nvjitlink = load_nvjitlink(*nvjitlink, major);
  toolchain->nvjitlink_version = nvjitlink_version(toolchain->nvjitlink, *nvjitlink, major);
  toolchain->nvjitlink_path = real_path(nvjitlink->path());
  if (toolchain->nvjitlink_version.major != toolchain->nvrtc_version.major ||
      toolchain->nvjitlink_version < toolchain->nvrtc_version) {
    refuse(
        fmt::format("{} is nvJitLink {}, which can't link what {} (NVRTC {}) compiles; it must be of the same major "
                    "release and not older",
                    toolchain->nvjitlink_path.string(), to_text(toolchain->nvjitlink_version),
                    toolchain->nvrtc_path.string(), to_text(toolchain->nvrtc_version)));
  }
  toolchain->libraries = {builtins, nvrtc, nvjitlink};
  return toolchain;
}

// Collects what was wrong where, until something is right.
class Search {
 public:
  // Names resolved by the loader: LD_LIBRARY_PATH, ld.so.cache, and libraries that this process has open already.
  std::shared_ptr<const Toolchain> try_loader() {
    for (const int major : kMajors) {
      if (auto found =
              try_pair("the loader's search path", soname("nvrtc", major), soname("nvJitLink", major), major)) {
        return found;
      }
    }
    return nullptr;
  }

  std::shared_ptr<const Toolchain> try_root(const fs::path& root) {
    bool any_nvrtc = false;
    for (const ToolchainPlace& place : toolchain_places(root)) {
      for (const int major : kMajors) {
        const fs::path nvrtc = place.nvrtc / soname("nvrtc", major);
        const fs::path nvjitlink = place.nvjitlink / soname("nvJitLink", major);
        if (!is_file(nvrtc)) continue;
        any_nvrtc = true;
        if (!is_file(nvjitlink)) {
          note(root.string(), fmt::format("{} is there, {} is not", nvrtc.string(), nvjitlink.string()));
          continue;
        }
        // The real paths, so that a library opened through a symlink finds its neighbours.
        if (auto found = try_pair(root.string(), real_path(nvrtc).string(), real_path(nvjitlink).string(), major)) {
          return found;
        }
      }
    }
    if (!any_nvrtc) note(root.string(), describe_nothing(root));
    return nullptr;
  }

  [[noreturn]] void fail() const {
    refuse(fmt::format(
        "no usable CUDA compiler (NVRTC with nvJitLink, 12.0 or later). Looked at:{}\n"
        "Install one: pip install nvidia-cuda-nvrtc nvidia-nvjitlink, or the CUDA Toolkit. If it lies elsewhere, set "
        "CAKEJIT_TOOLKIT_PATH to its folder. A cache prebuilt with cake-aot needs none.",
        notes_.empty() ? "\n  nothing: no place to look was given" : notes_));
  }

 private:
  std::shared_ptr<const Toolchain> try_pair(const std::string& where, const std::string& nvrtc,
                                            const std::string& nvjitlink, int major) {
    try {
      return open_pair(nvrtc, nvjitlink, major);
    } catch (const Error& error) {
      note(where, error.what());
      return nullptr;
    }
  }

  static std::string describe_nothing(const fs::path& root) {
    std::error_code error;
    const fs::file_status status = fs::status(root, error);
    if (error && status.type() != fs::file_type::not_found) return error.message();
    if (status.type() == fs::file_type::not_found) return "no such folder";
    if (status.type() != fs::file_type::directory) return "not a folder";
    return "no libnvrtc.so.13 or libnvrtc.so.12, neither in it nor in its lib64, lib, targets/*/lib, "
           "lib/python3*/site-packages/nvidia/*/lib";
  }

  void note(const std::string& where, const std::string& what) { notes_ += fmt::format("\n  {}: {}", where, what); }

  std::string notes_;
};

}  // namespace

std::shared_ptr<const Toolchain> open_toolchain(const ToolchainSearch& search) {
  Search state;
  if (!search.explicit_path.empty()) {
    if (auto found = state.try_root(search.explicit_path)) return found;
    state.fail();
  }
  if (search.loader_path) {
    if (auto found = state.try_loader()) return found;
  }
  for (const fs::path& hint : search.hints) {
    if (auto found = state.try_root(hint)) return found;
  }
  for (const fs::path& parent : search.toolkit_parents) {
    for (const fs::path& root : toolkit_roots(parent)) {
      if (auto found = state.try_root(root)) return found;
    }
  }
  state.fail();
}

}  // namespace cakejit::jit
