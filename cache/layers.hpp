// The layered cache: read-only stores in order, then at most one writable store, then memory only.
#pragma once

#include <spdlog/logger.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cache/single_flight.hpp"
#include "cache/store.hpp"

namespace cakejit::cache {

enum class Origin { kReadOnlyLayer, kWritableLayer, kBuilt };

struct Obtained {
  Entry entry;
  Origin origin = Origin::kBuilt;
};

class Layers {
 public:
  // `writable` nullopt: built entries stay with the caller only. Touches nothing.
  Layers(const std::vector<Path>& read_only, const std::optional<Path>& writable, std::shared_ptr<spdlog::logger> log,
         std::shared_ptr<FileSystem> files = real_file_system(), const Caps& caps = {}, const LockTiming& timing = {});

  // The entry from the first layer that has it, else producer()'s, which is then published to the writable layer. A
  // failed publish is one warning; the built entry is returned all the same. A hit in a read-only layer touches no
  // writable path. Threads and processes that share the writable layer build an entry once. `acceptable` false: the next layer
  // is tried.
  [[nodiscard]] Obtained obtain(const Request& request, const Producer& producer, const Acceptable& acceptable);

  // The entry from the first layer that has it; nullopt when none has. Builds nothing.
  [[nodiscard]] std::optional<Obtained> find(const Request& request, const Acceptable& acceptable);

 private:
  [[nodiscard]] std::optional<Obtained> find_read_only(const Request& request, const Acceptable& acceptable) const;
  void sweep_once();
  void explain(const Request& request) const;
  void warn_not_kept(const std::optional<Error>& why);

  std::vector<Store> read_only_;
  std::optional<Store> writable_;
  std::shared_ptr<spdlog::logger> log_;
  LockTiming timing_;
  std::atomic<bool> warned_{false};
  std::once_flag swept_;
};

}  // namespace cakejit::cache
