#include "runtime/library_table.hpp"

namespace cakejit::runtime {

LibraryTable::Loaded LibraryTable::obtain(const Specialization& specialization, const jit::Target& target,
                                          const Maker& make) {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    auto& place = slots_[{specialization, std::string(target.name)}];
    if (!place) place = std::make_shared<Slot>();
    slot = place;
  }
  const std::lock_guard lock(slot->mutex);
  if (!slot->library) {
    slot->library = make();
    loaded_.fetch_add(1, std::memory_order_relaxed);
  }
  return slot->library;
}

}  // namespace cakejit::runtime
