// A grid's accesses to memory and its asynchronous copies.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/emulation/grid.hpp"

namespace cakejit::emulation {
namespace {

const char* name_of(Use use) {
  return use == kRead ? "reads" : "writes";
}

bool within(const void* address, const std::byte* begin, const std::byte* end) {
  return !std::less<>()(address, static_cast<const void*>(begin)) &&
         std::less<>()(address, static_cast<const void*>(end));
}

}  // namespace

Actor Grid::actor() const {
  const bool all_complete = !shape_.programmatic || current_->dependency_waited;
  return {.thread = block_ * shape_.threads + current_->index,
          .now = device_.now,
          .block_began = block_began_,
          .grid_began = grid_began_,
          .complete_before = all_complete ? grid_began_ : previous_grid_began_};
}

bool Grid::in_shared(const void* address) const {
  return within(address, kernel_.code.shared_begin, kernel_.code.shared_end);
}

std::string Grid::describe(const void* address) const {
  if (in_shared(address)) {
    return fmt::format("byte {} of shared memory", static_cast<const std::byte*>(address) - kernel_.code.shared_begin);
  }
  for (const Operand& operand : operands_) {
    const std::string place = operand.describe(address);
    if (!place.empty()) return place;
  }
  return "an address outside all tensors";
}

// The cells of an access to shared or global memory; fails if it is out of bounds.
Cell* Grid::cells(const void* address, std::size_t bytes, Use use) {
  const auto refuse = [&](const char* why) {
    fail(fmt::format("{} {} bytes at {}: {}", name_of(use), bytes, describe(address), why));
  };
  // An access of a power of two must be aligned to it: that is what the hardware asks for.
  const bool power_of_two = (bytes & (bytes - 1)) == 0;
  if (power_of_two && reinterpret_cast<std::uintptr_t>(address) % bytes != 0) refuse("misaligned");
  if (in_shared(address)) {
    const auto* const begin = static_cast<const std::byte*>(address);
    if (static_cast<std::size_t>(kernel_.code.shared_end - begin) < bytes) refuse("out of bounds");
    return &device_.shared[static_cast<std::size_t>(begin - kernel_.code.shared_begin)];
  }
  Cell* const first = device_.memory.cells(address, bytes);
  if (first == nullptr) refuse("out of bounds");
  for (Cell* cell = first; cell != first + bytes; ++cell) {
    if ((cell->allowed & use) == 0) refuse(cell->allowed == kNoUse ? "out of bounds" : "not what this tensor is for");
  }
  return first;
}

void Grid::check_initialised(const void* address, const Cell* cells, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (cells[i].initialised) continue;
    if (!in_shared(address) || !kernel_.reads_unfilled_shared) {
      fail(fmt::format("reads {} bytes at {}: uninitialised", bytes, describe(address)));
    }
    // Words of NaN in every format, or of anything; others in every launch, so that a use of them shows.
    auto* const byte = static_cast<std::byte*>(const_cast<void*>(address)) + i;
    const std::uint64_t word = Dice(garbage_ ^ reinterpret_cast<std::uintptr_t>(byte) / 4).roll();
    *byte = word % 2 == 0 ? std::byte{0xff}
                          : static_cast<std::byte>(word >> (8 + reinterpret_cast<std::uintptr_t>(byte) % 4 * 8));
  }
}

void Grid::access(const void* address, std::size_t bytes, Use use) {
  if (current_->fiber.holds(address)) return;
  if (use == kRead && within(address, params_.data(), params_.data() + params_.size())) return;
  Cell* const first = cells(address, bytes, use);
  const Actor self = actor();
  for (std::size_t i = 0; i < bytes; ++i) {
    const char* const why = use == kRead ? first[i].read(self) : first[i].write(self);
    if (why != nullptr) fail(fmt::format("{} {} bytes at {}: {}", name_of(use), bytes, describe(address), why));
  }
  if (use == kRead) check_initialised(address, first, bytes);
}

void Grid::begin_copy(void* shared, const void* global, std::size_t bytes) {
  if (!in_shared(shared)) fail(fmt::format("copies to {}, not to shared memory", describe(shared)));
  if (in_shared(global)) fail("copies asynchronously from shared memory");
  access(global, bytes, kRead);
  access(shared, bytes, kWrite);
  Cell* const first = cells(shared, bytes, kWrite);
  for (Cell* cell = first; cell != first + bytes; ++cell) cell->in_flight = true;
  current_->copies.push_back(
      {static_cast<std::byte*>(shared), static_cast<const std::byte*>(global), bytes, current_->group, false});
}

void Grid::arrive(AsyncCopy& copy) {
  if (!copy.arrived) std::memcpy(copy.to, copy.from, copy.bytes);
  copy.arrived = true;
}

void Grid::commit_copies() {
  ++current_->group;
  for (AsyncCopy& copy : current_->copies) {
    if (dice_.one_in(4)) arrive(copy);
  }
  if (dice_.one_in(4)) pause(Thread::State::kReady);
}

void Grid::wait_for_copies(unsigned pending_groups) {
  std::vector<AsyncCopy>& copies = current_->copies;
  const auto waited_for = [&](const AsyncCopy& copy) { return copy.group + pending_groups < current_->group; };
  const auto end = std::partition(copies.begin(), copies.end(), waited_for);
  const Actor self = actor();
  for (auto left = end - copies.begin(); left > 0; --left) {
    AsyncCopy& copy = copies[static_cast<std::size_t>(left - 1)];
    std::swap(copies[dice_.below(static_cast<std::size_t>(left))], copy);
    arrive(copy);
    Cell* const first = cells(copy.to, copy.bytes, kWrite);
    for (Cell* cell = first; cell != first + copy.bytes; ++cell) {
      cell->in_flight = false;
      // To other threads the data is written now, not when the copy began.
      if (const char* why = cell->write(self))
        fail(fmt::format("waits for a copy to {} that {}", describe(copy.to), why));
    }
  }
  copies.erase(copies.begin(), end);
}

}  // namespace cakejit::emulation
