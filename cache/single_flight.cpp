#include "cache/single_flight.hpp"

#include "cakejit/error.hpp"

namespace cakejit::cache {
namespace {

// Looks for an entry again and again, without reading one twice that was not acceptable.
class Finder {
 public:
  Finder(const Store& store, const Request& request, const Acceptable& acceptable,
         const std::shared_ptr<spdlog::logger>& log)
      : store_(store), request_(request), acceptable_(acceptable), log_(log) {}

  bool find() {
    const auto there = identity();
    if (there && there == refused_) return false;
    auto entry = store_.load(request_);
    if (!entry) return false;
    if (!acceptable_(entry->manifest)) {
      log_->info("{} in {} was built by {}: replaced (CAKEJIT_COMPILER_POLICY=match)", request_.name,
                 store_.root().string(), entry->manifest.compiler);
      refused_ = there;
      return false;
    }
    entry_ = std::move(entry);
    return true;
  }

  [[nodiscard]] bool has_refused() const { return refused_.has_value(); }
  Entry take() { return *std::move(entry_); }

 private:
  [[nodiscard]] std::optional<FileIdentity> identity() const {
    try {
      return store_.identity(request_.name);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  const Store& store_;
  const Request& request_;
  const Acceptable& acceptable_;
  const std::shared_ptr<spdlog::logger>& log_;
  std::optional<FileIdentity> refused_;
  std::optional<Entry> entry_;
};

Flight found(const Store& store, Finder& finder) {
  store.counters().add({.hits = 1});
  return {finder.take(), false, std::nullopt};
}

}  // namespace

Flight load_or_build(const Store& store, const Request& request, const Producer& producer, const Acceptable& acceptable,
                     const std::shared_ptr<spdlog::logger>& log, const LockTiming& timing) {
  Finder finder(store, request, acceptable, log);
  if (finder.find()) return found(store, finder);
  const BuildLock lock(store.files(), store.layout(), request.name, [&] { return finder.find(); }, log, timing);
  if (lock.outcome() == BuildLock::Outcome::kDone) return found(store, finder);
  store.counters().add({.misses = 1});
  Flight flight{producer(), true, std::nullopt};
  try {
    store.publish(flight.entry, finder.has_refused() ? Existing::kReplace : Existing::kKeep);
  } catch (const Error& error) {
    flight.not_kept = error;
  }
  return flight;
}

}  // namespace cakejit::cache
