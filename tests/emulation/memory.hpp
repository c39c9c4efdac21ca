// The emulated device's global memory: allocations with a cell per byte, and what a launch may touch of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/emulation/cell.hpp"

namespace cakejit::emulation {

// A tensor of a launch: all that its kernel may touch is in one of these. A written tensor must be written whole.
struct Operand {
  const char* name;
  const void* pointer;
  Use use;
  std::int64_t rows;
  std::int64_t row_bytes;
  std::int64_t row_stride;  // bytes

  // "byte 6 of row 2 of dweight", or "" if the address lies before the first row or after the last.
  [[nodiscard]] std::string describe(const void* address) const;
};

class GlobalMemory {
 public:
  // 256-byte aligned; filled with 0xFF, and uninitialised.
  void* allocate(std::size_t bytes);
  void free(void* memory) noexcept;
  void upload(void* to, const void* from, std::size_t bytes);

  // Cells of `bytes` bytes from `address` on; nullptr unless all lie in one allocation.
  Cell* cells(const void* address, std::size_t bytes);

  // Allows a launch its operands; what it is to write becomes uninitialised. Returns "" or which operand is out of
  // bounds.
  std::string begin_launch(const std::vector<Operand>& operands);
  // Forbids them again. Returns "" or which byte the launch has not written.
  std::string end_launch(const std::vector<Operand>& operands);

 private:
  struct Allocation {
    std::unique_ptr<std::byte[]> storage;
    std::size_t bytes;
    std::vector<Cell> cells;
  };

  std::map<std::uintptr_t, Allocation> allocations_;  // by first address
  std::map<std::uintptr_t, Allocation>::iterator last_ = allocations_.end();
};

}  // namespace cakejit::emulation
