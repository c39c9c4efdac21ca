#include "tests/emulation/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace cakejit::emulation {
namespace {

constexpr std::uintptr_t kAlignment = 256;

const std::byte* row_of(const Operand& operand, std::int64_t row) {
  return static_cast<const std::byte*>(operand.pointer) + row * operand.row_stride;
}

}  // namespace

std::string Operand::describe(const void* address) const {
  const auto at = reinterpret_cast<std::intptr_t>(address) - reinterpret_cast<std::intptr_t>(pointer);
  if (rows == 0 || at < 0 || at >= (rows - 1) * row_stride + row_bytes) return "";
  return fmt::format("byte {} of row {} of {}", at % row_stride, at / row_stride, name);
}

void* GlobalMemory::allocate(std::size_t bytes) {
  Allocation allocation{std::unique_ptr<std::byte[]>(new std::byte[bytes + kAlignment]), bytes, {}};
  const auto address =
      (reinterpret_cast<std::uintptr_t>(allocation.storage.get()) + kAlignment - 1) / kAlignment * kAlignment;
  allocation.cells.resize(bytes);
  auto* const memory = reinterpret_cast<std::byte*>(address);
  std::fill_n(memory, bytes, std::byte{0xff});
  allocations_.emplace(address, std::move(allocation));
  return memory;
}

void GlobalMemory::free(void* memory) noexcept {
  allocations_.erase(reinterpret_cast<std::uintptr_t>(memory));
  last_ = allocations_.end();
}

void GlobalMemory::upload(void* to, const void* from, std::size_t bytes) {
  Cell* const first = cells(to, bytes);
  if (first == nullptr) throw std::out_of_range("upload to memory that is not allocated");
  std::memcpy(to, from, bytes);
  for (Cell* cell = first; cell != first + bytes; ++cell) {
    *cell = Cell{};
    cell->initialised = true;
  }
}

Cell* GlobalMemory::cells(const void* address, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto holds = [&](const auto& entry) {
    return entry->first <= at && at - entry->first <= entry->second.bytes &&
           entry->second.bytes - (at - entry->first) >= bytes;
  };
  if (last_ == allocations_.end() || !holds(last_)) {
    auto after = allocations_.upper_bound(at);
    if (after == allocations_.begin() || !holds(--after)) return nullptr;
    last_ = after;
  }
  return last_->second.cells.data() + (at - last_->first);
}

std::string GlobalMemory::begin_launch(const std::vector<Operand>& operands) {
  for (const Operand& operand : operands) {
    for (std::int64_t row = 0; row < operand.rows; ++row) {
      Cell* const first = cells(row_of(operand, row), static_cast<std::size_t>(operand.row_bytes));
      if (first == nullptr) return fmt::format("row {} of {} is in no allocation", row, operand.name);
      for (Cell* cell = first; cell != first + operand.row_bytes; ++cell) {
        cell->allowed = static_cast<std::uint8_t>(cell->allowed | operand.use);
        if (operand.use == kWrite) cell->initialised = false;
      }
    }
  }
  return "";
}

std::string GlobalMemory::end_launch(const std::vector<Operand>& operands) {
  std::string missing;
  for (const Operand& operand : operands) {
    for (std::int64_t row = 0; row < operand.rows; ++row) {
      const std::byte* const begin = row_of(operand, row);
      Cell* const first = cells(begin, static_cast<std::size_t>(operand.row_bytes));
      if (first == nullptr) return missing;  // begin_launch has refused it
      for (std::int64_t byte = 0; byte < operand.row_bytes; ++byte) {
        first[byte].allowed = kNoUse;
        if (operand.use == kWrite && !first[byte].initialised && missing.empty()) {
          missing = operand.describe(begin + byte) + " was not written";
        }
      }
    }
  }
  return missing;
}

}  // namespace cakejit::emulation
