#include "cache/layers.hpp"

#include "cache/miss.hpp"
#include "cakejit/error.hpp"

namespace cakejit::cache {

Layers::Layers(const std::vector<Path>& read_only, const std::optional<Path>& writable,
               std::shared_ptr<spdlog::logger> log, std::shared_ptr<FileSystem> files, const Caps& caps,
               const LockTiming& timing)
    : log_(std::move(log)), timing_(timing) {
  for (const Path& root : read_only) read_only_.emplace_back(root, Access::kReadOnly, log_, files);
  if (writable) writable_.emplace(*writable, Access::kReadWrite, log_, files, StoreOptions{.caps = caps});
}

std::optional<Obtained> Layers::find_read_only(const Request& request, const Acceptable& acceptable) const {
  for (const Store& store : read_only_) {
    auto entry = store.load(request);
    if (!entry) continue;
    if (acceptable(entry->manifest)) return Obtained{*std::move(entry), Origin::kReadOnlyLayer};
    log_->info("{} in {} was built by {}: passed over (CAKEJIT_COMPILER_POLICY=match)", request.name,
               store.root().string(), entry->manifest.compiler);
  }
  return std::nullopt;
}

std::optional<Obtained> Layers::find(const Request& request, const Acceptable& acceptable) {
  if (auto found = find_read_only(request, acceptable)) return found;
  if (!writable_) return std::nullopt;
  sweep_once();
  auto entry = writable_->load(request);
  if (!entry || !acceptable(entry->manifest)) return std::nullopt;
  writable_->counters().add({.hits = 1});
  return Obtained{*std::move(entry), Origin::kWritableLayer};
}

Obtained Layers::obtain(const Request& request, const Producer& producer, const Acceptable& acceptable) {
  if (auto found = find_read_only(request, acceptable)) return *std::move(found);
  const Producer build = [&] {
    explain(request);
    return producer();
  };
  if (!writable_) {
    Obtained built{build(), Origin::kBuilt};
    warn_not_kept(std::nullopt);
    return built;
  }
  sweep_once();
  Flight flight = load_or_build(*writable_, request, build, acceptable, log_, timing_);
  if (flight.not_kept) warn_not_kept(flight.not_kept);
  return {std::move(flight.entry), flight.was_built ? Origin::kBuilt : Origin::kWritableLayer};
}

// What dead processes left is gone when the next one first looks here.
void Layers::sweep_once() {
  std::call_once(swept_, [this] { writable_->sweep(); });
}

void Layers::explain(const Request& request) const {
  log_->info("{} ({}) is in no cache layer: building it", request.name, request.target);
  // Reads every manifest there is: only for whoever wants to know.
  if (!log_->should_log(spdlog::level::debug)) return;
  for (const Store& store : read_only_) log_->debug("{}: {}", store.root().string(), explain_miss(store, request));
  if (writable_) log_->debug("{}: {}", writable_->root().string(), explain_miss(*writable_, request));
}

// Losing the cache costs time, not the job: one warning, however many entries.
void Layers::warn_not_kept(const std::optional<Error>& why) {
  if (warned_.exchange(true)) return;
  if (why) {
    log_->warn("{} Compiled kernels are kept in memory only.", why->what());
  } else {
    log_->warn(
        "no cache directory (neither CAKEJIT_CACHE_DIR, XDG_CACHE_HOME nor HOME is set): compiled kernels are "
        "kept in memory only");
  }
}

}  // namespace cakejit::cache
