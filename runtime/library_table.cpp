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
  if (!slot->library) slot->library = make();
  return slot->library;
}

std::size_t LibraryTable::size() const {
  const std::lock_guard lock(mutex_);
  std::size_t loaded = 0;
  for (const auto& [key, slot] : slots_) {
    const std::lock_guard slot_lock(slot->mutex);
    if (slot->library) ++loaded;
  }
  return loaded;
}

}  // namespace cakejit::runtime
