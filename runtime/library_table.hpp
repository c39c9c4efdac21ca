// The kernel libraries that this process has loaded, one per (specialisation, target). Makes each once, whatever number
// of threads ask; a failure is not remembered.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/driver/loaded_library.hpp"
#include "runtime/program.hpp"

namespace cakejit::runtime {

class LibraryTable {
 public:
  using Loaded = std::shared_ptr<const driver::LoadedLibrary>;
  using Maker = std::function<Loaded()>;

  // The library, made by `make` if it is not there. Threads that ask for the same one wait for the first; its exception
  // reaches it alone, and the next in line tries for itself.
  Loaded obtain(const Specialization& specialization, const jit::Target& target, const Maker& make);

  // Libraries made so far. Waits for none in the making.
  [[nodiscard]] std::size_t size() const { return loaded_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    std::mutex mutex;
    Loaded library;
  };

  std::atomic<std::size_t> loaded_{0};
  std::mutex mutex_;
  std::map<std::pair<Specialization, std::string>, std::shared_ptr<Slot>> slots_;
};

}  // namespace cakejit::runtime
