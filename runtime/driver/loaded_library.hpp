// A kernel library loaded into the driver, and its kernels. Unloaded with its last owner. Not bound to a CUDA context:
// the driver loads a library into each context that launches from it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/driver/driver_api.hpp"

namespace cakejit::driver {

class LoadedLibrary {
 public:
  // Loads `code` (a cubin; copied by the driver) and looks every symbol up. Throws Error(DRIVER), and then holds
  // nothing.
  LoadedLibrary(std::shared_ptr<const DriverApi> driver, const std::string& code,
                const std::vector<std::string>& symbols);
  ~LoadedLibrary();
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  // Kernels in the order of the constructor's symbols.
  [[nodiscard]] KernelHandle kernel(std::size_t index) const { return kernels_.at(index); }

 private:
  std::shared_ptr<const DriverApi> driver_;
  LibraryHandle library_ = nullptr;
  std::vector<KernelHandle> kernels_;
};

}  // namespace cakejit::driver
