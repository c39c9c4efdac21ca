// A large piece of address space, zero and without memory behind it until it is touched.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace cakejit::test {

class SparseMemory {
 public:
  explicit SparseMemory(std::size_t bytes)
      : bytes_(bytes),
        memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~SparseMemory() {
    if (data() != nullptr) munmap(memory_, bytes_);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  // Null where the system refused.
  [[nodiscard]] std::byte* data() const { return memory_ == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_;
};

}  // namespace cakejit::test
