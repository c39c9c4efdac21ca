#include "jit/toolchain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cakejit/error.hpp"
#include "jit/toolchain_places.hpp"
#include "tests/jit/toolkit_at_hand.hpp"

using namespace cakejit;
using namespace cakejit::jit;
namespace fs = std::filesystem;

namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "cakejit-toolchain-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  fs::path folder(const std::string& name) const {
    fs::create_directories(path_ / name);
    return path_ / name;
  }
  void file(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string failure(const ToolchainSearch& search) {
  try {
    (void)open_toolchain(search);
  } catch (const Error& error) {
    CHECK(error.status() == CAKE_STATUS_TOOLCHAIN_MISSING);
    return error.what();
  }
  FAIL("a toolchain was found");
  return {};
}

// A search that never leaves `explicit_path` or `hints`.
ToolchainSearch only_hints(std::vector<fs::path> hints) {
  return {.explicit_path = {}, .hints = std::move(hints), .loader_path = false, .toolkit_parents = {}};
}

// A folder that holds the two libraries under their usual names, as symlinks.
fs::path linked_toolkit(const fs::path& folder, const Toolchain& toolchain) {
  fs::create_directories(folder);
  const int major = toolchain.nvrtc_version.major;
  fs::create_symlink(toolchain.nvrtc_path, folder / fmt::format("libnvrtc.so.{}", major));
  fs::create_symlink(toolchain.linker.path, folder / fmt::format("libnvJitLink.so.{}", major));
  return folder;
}

}  // namespace

TEST_CASE("without a toolchain the error names every place, what was wrong there, and how to install one") {
  const TemporaryFolder root;
  root.file("torn/lib64/libnvrtc.so.13", "not a library");
  root.file("torn/lib64/libnvJitLink.so.13", "not a library");
  root.file("half/lib/libnvrtc.so.12", "not a library");
  root.file("a_file", "");
  const std::string message = failure(only_hints({root.path() / "none", root.folder("empty"), root.path() / "a_file",
                                                  root.path() / "torn", root.path() / "half"}));
  for (const char* said : {"none: no such folder", "empty: no libnvrtc.so.13 or libnvrtc.so.12", "a_file: not a folder",
                           "torn/lib64/libnvrtc.so.13: file too short", "half/lib/libnvrtc.so.12 is there",
                           "half/lib/libnvJitLink.so.12 is not", "pip install nvidia-cuda-nvrtc nvidia-nvjitlink",
                           "CUDA Toolkit", "CAKEJIT_TOOLKIT_PATH"}) {
    CHECK_THAT(message, Catch::Contains(said));
  }
}

TEST_CASE("an explicit path is the only place looked at") {
  const TemporaryFolder root;
  const std::string message = failure({.explicit_path = root.folder("empty"), .hints = {root.folder("hint")}});
  CHECK_THAT(message, Catch::Contains("empty: ") && !Catch::Contains("hint") && !Catch::Contains("loader's"));
}

TEST_CASE("a search without any place says so") {
  CHECK_THAT(failure(only_hints({})), Catch::Contains("no place to look was given"));
}

TEST_CASE("the layouts of toolkits, virtual environments and pip targets are known") {
  const TemporaryFolder root;
  const fs::path cu13 = root.folder("venv/lib/python3.11/site-packages/nvidia/cu13/lib");
  const fs::path nvrtc = root.folder("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib");
  const fs::path nvjitlink = root.folder("venv/lib/python3.11/site-packages/nvidia/nvjitlink/lib");
  const fs::path toolkit = root.folder("toolkit/lib64");
  const auto holds = [](const fs::path& path, const ToolchainPlace& place) {
    return std::ranges::count(toolchain_places(path), place) > 0;
  };
  CHECK(holds(root.path() / "toolkit", {toolkit, toolkit}));
  CHECK(holds(toolkit, {toolkit, toolkit}));
  for (const char* named : {"venv", "venv/lib/python3.11/site-packages", "venv/lib/python3.11/site-packages/nvidia"}) {
    CAPTURE(named);
    CHECK(holds(root.path() / named, {cu13, cu13}));
    CHECK(holds(root.path() / named, {nvrtc, nvjitlink}));
  }
  CHECK(toolchain_places(root.path() / "none").empty());
}

TEST_CASE("toolkits are tried as cuda, then newest first") {
  const TemporaryFolder root;
  for (const char* name : {"cuda-9.2", "cuda-12.4", "cuda-13.10", "cuda-13.2", "cuda", "cudb-14.0"}) root.folder(name);
  root.file("cuda-15.0", "a file");
  std::vector<std::string> names;
  for (const fs::path& path : toolkit_roots(root.path())) names.push_back(path.filename().string());
  CHECK(names == std::vector<std::string>{"cuda", "cuda-13.10", "cuda-13.2", "cuda-12.4", "cuda-9.2"});
}

TEST_CASE("the toolchain at hand has versions that fit, absolute paths and a list of targets") {
  const auto toolchain = testing::toolkit_at_hand();
  if (!toolchain) return;
  CHECK(toolchain->nvrtc_version >= Version{12, 0});
  CHECK(toolchain->linker.version >= toolchain->nvrtc_version);
  CHECK(toolchain->linker.version.major == toolchain->nvrtc_version.major);
  CHECK(toolchain->nvrtc_path.is_absolute());
  CHECK(toolchain->linker.path.is_absolute());
  CHECK(std::ranges::count(toolchain->nvrtc_archs, 90) == 1);
}

TEST_CASE("a symlinked toolkit root and symlinked libraries work") {
  const auto toolchain = testing::toolkit_at_hand();
  if (!toolchain) return;
  const TemporaryFolder root;
  linked_toolkit(root.path() / "real/lib64", *toolchain);
  fs::create_directory_symlink("real", root.path() / "linked");
  const auto found = open_toolchain({.explicit_path = root.path() / "linked"});
  CHECK(found->nvrtc_path == toolchain->nvrtc_path);
  CHECK(compile(*found, testing::sample_request("linked", "sm_80")).cubin.size() > 0);
}

TEST_CASE("the first place that works is taken, after others that don't") {
  const auto toolchain = testing::toolkit_at_hand();
  if (!toolchain) return;
  const TemporaryFolder root;
  const fs::path folder = linked_toolkit(root.path() / "mine", *toolchain);
  CHECK(open_toolchain(only_hints({root.path() / "none", folder}))->nvrtc_path == toolchain->nvrtc_path);
  fs::create_directory_symlink(folder, root.path() / "cuda");
  ToolchainSearch by_parent = only_hints({});
  by_parent.toolkit_parents = {root.path()};
  CHECK(open_toolchain(by_parent)->nvrtc_path == toolchain->nvrtc_path);
}

TEST_CASE("a linker is found where there is no compiler, and links what another machine compiled for a family") {
  const auto toolchain = testing::toolkit_at_hand();
  if (!toolchain) return;
  const TemporaryFolder root;
  const int major = toolchain->nvrtc_version.major;
  fs::create_symlink(toolchain->linker.path, root.path() / fmt::format("libnvJitLink.so.{}", major));
  const ToolchainSearch search = only_hints({root.path()});
  CHECK_THAT(failure(search), Catch::Contains("libnvrtc"));
  const auto linker = open_linker(search);
  CHECK(linker->path == toolchain->linker.path);
  CHECK(linker->version.major == major);

  for (const Target& target : all_targets()) {
    if (std::ranges::count(toolchain->nvrtc_archs, target.arch()) == 0) continue;
    CAPTURE(target.name);
    CompileRequest request = testing::sample_request("family", "sm_80");
    request.target = portable_target(target);
    const CompiledLibrary portable = compile(*toolchain, request);
    const LinkedLibrary linked = link(*linker, {.name = "linked",
                                                .lto_ir = portable.lto_ir,
                                                .compiler = portable.compiler,
                                                .target = target,
                                                .link_options = {"-O3"},
                                                .entry_symbols = request.entry_symbols});
    CHECK(linked.kernels.size() == 2);
    CHECK(linked.kernels[0].shared_bytes == 1024);
    CHECK(linked.kernels[0].registers > 0);
  }
}

TEST_CASE("without a linker the error names every place, and that the linker is what is missing") {
  const TemporaryFolder root;
  root.file("torn/libnvJitLink.so.13", "not a library");
  try {
    (void)open_linker(only_hints({root.path() / "none", root.path() / "torn"}));
    FAIL("a linker was found");
  } catch (const Error& error) {
    CHECK(error.status() == CAKE_STATUS_TOOLCHAIN_MISSING);
    CHECK_THAT(error.what(), Catch::Contains("nvJitLink") && Catch::Contains((root.path() / "torn").string()) &&
                                 Catch::Contains("pip install"));
  }
}
