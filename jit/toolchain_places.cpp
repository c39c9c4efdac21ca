#include "jit/toolchain_places.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cakejit::jit {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Names of the entries of `folder` that start with `prefix`, sorted. An unreadable folder has none.
std::vector<std::string> names_with_prefix(const fs::path& folder, std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.starts_with(prefix)) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

// "cuda-13.0" -> (13, 0); (0, 0) for anything else.
std::pair<int, int> toolkit_version(std::string_view name) {
  std::pair<int, int> version{0, 0};
  name.remove_prefix(std::string_view("cuda-").size());
  const char* end = name.data() + name.size();
  const auto [dot, error] = std::from_chars(name.data(), end, version.first);
  if (error == std::errc{} && dot != end && *dot == '.') (void)std::from_chars(dot + 1, end, version.second);
  return version;
}

// pip's layouts: one folder for all of CUDA 13, a folder per package for CUDA 12.
void add_packages(std::vector<ToolchainPlace>& places, const fs::path& nvidia) {
  places.push_back({nvidia / "cu13" / "lib", nvidia / "cu13" / "lib"});
  places.push_back({nvidia / "cuda_nvrtc" / "lib", nvidia / "nvjitlink" / "lib"});
}

}  // namespace

std::vector<ToolchainPlace> toolchain_places(const fs::path& root) {
  std::vector<ToolchainPlace> places;
  for (const char* folder : {"", "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"}) {
    const fs::path path = *folder == '\0' ? root : root / folder;
    places.push_back({path, path});
  }
  add_packages(places, root);
  add_packages(places, root / "nvidia");
  for (const std::string& python : names_with_prefix(root / "lib", "python3")) {
    for (const char* packages : {"site-packages", "dist-packages"}) {
      add_packages(places, root / "lib" / python / packages / "nvidia");
    }
  }
  std::erase_if(places, [](const ToolchainPlace& place) { return !is_folder(place.nvrtc) && !is_folder(place.nvjitlink); });
  return places;
}

std::vector<fs::path> toolkit_roots(const fs::path& parent) {
  std::vector<std::string> names = names_with_prefix(parent, "cuda-");
  std::ranges::stable_sort(names, std::greater<>{}, toolkit_version);
  std::vector<fs::path> roots;
  if (is_folder(parent / "cuda")) roots.push_back(parent / "cuda");
  for (const std::string& name : names) {
    if (is_folder(parent / name)) roots.push_back(parent / name);
  }
  return roots;
}

}  // namespace cakejit::jit
