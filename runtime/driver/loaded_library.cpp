#include "runtime/driver/loaded_library.hpp"

namespace cakejit::driver {

LoadedLibrary::LoadedLibrary(std::shared_ptr<const DriverApi> driver, const std::string& code,
                             const std::vector<std::string>& symbols)
    : driver_(std::move(driver)) {
  driver_->check(driver_->LibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                 "cuLibraryLoadData");
  kernels_.reserve(symbols.size());
  for (const std::string& symbol : symbols) {
    KernelHandle kernel = nullptr;
    if (const Result result = driver_->LibraryGetKernel(&kernel, library_, symbol.c_str()); result != kSuccess) {
      driver_->LibraryUnload(library_);
      driver_->check(result, ("cuLibraryGetKernel(" + symbol + ")").c_str());
    }
    kernels_.push_back(kernel);
  }
}

// At process exit the driver may be gone already; its error is of no use to anyone then.
LoadedLibrary::~LoadedLibrary() {
  driver_->LibraryUnload(library_);
}

}  // namespace cakejit::driver
