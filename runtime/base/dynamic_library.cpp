#include "runtime/base/dynamic_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include "cakejit/error.hpp"

namespace cakejit {

DynamicLibrary::DynamicLibrary(const std::string& name, cake_status status_on_failure)
    : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    const char* why = dlerror();
    throw Error(status_on_failure,
                fmt::format("cannot load {}: {}", name, why != nullptr ? why : "the loader gave no reason"));
  }
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* DynamicLibrary::find(const char* symbol) const noexcept {
  return dlsym(handle_, symbol);
}

std::filesystem::path DynamicLibrary::path() const {
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return {};
  return map->l_name;
}

}  // namespace cakejit
