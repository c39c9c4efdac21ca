#include "cache/layers.hpp"

#include "cakejit/error.hpp"

namespace cakejit::cache {

Layers::Layers(const std::vector<Path>& read_only, const std::optional<Path>& writable,
               std::shared_ptr<spdlog::logger> log, std::shared_ptr<FileSystem> files)
    : log_(std::move(log)) {
  for (const Path& root : read_only) read_only_.emplace_back(root, Access::kReadOnly, log_, files);
  if (writable) writable_.emplace(*writable, Access::kReadWrite, log_, files);
}

Obtained Layers::obtain(const Request& request, const Producer& producer, const Acceptable& acceptable) {
  const auto try_store = [&](const Store& store) -> std::optional<Entry> {
    auto entry = store.load(request);
    if (entry && !acceptable(entry->manifest)) {
      log_->info("{} in {} was built by {}: passed over (CAKEJIT_COMPILER_POLICY=match)", request.name,
                 store.root().string(), entry->manifest.compiler);
      return std::nullopt;
    }
    return entry;
  };
  for (const Store& store : read_only_) {
    if (auto entry = try_store(store)) return {*std::move(entry), Origin::kReadOnlyLayer};
  }
  if (writable_) {
    if (auto entry = try_store(*writable_)) return {*std::move(entry), Origin::kWritableLayer};
  }
  log_->info("{} ({}) is in no cache layer: building it", request.name, request.target);
  Entry built = producer();
  keep(built);
  return {std::move(built), Origin::kBuilt};
}

// Losing the cache costs time, not the job: one warning, however many entries.
void Layers::keep(const Entry& entry) {
  try {
    if (writable_) return writable_->publish(entry);
    if (!warned_.exchange(true)) {
      log_->warn(
          "no cache directory (neither CAKEJIT_CACHE_DIR, XDG_CACHE_HOME nor HOME is set): compiled kernels are "
          "kept in memory only");
    }
  } catch (const Error& error) {
    if (!warned_.exchange(true)) log_->warn("{} Compiled kernels are kept in memory only.", error.what());
  }
}

}  // namespace cakejit::cache
