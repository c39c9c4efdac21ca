// The layered cache: read-only stores in order, then at most one writable store, then memory only.
#pragma once

#include <spdlog/logger.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cache/store.hpp"

namespace cakejit::cache {

// Builds the entry on a miss. Whatever it throws reaches the caller of obtain unchanged, and nothing is remembered.
using Producer = std::function<Entry()>;

// Says whether an entry that was found may be used; on false the next layer is tried (compiler policy).
using Acceptable = std::function<bool(const Manifest&)>;

enum class Origin { kReadOnlyLayer, kWritableLayer, kBuilt };

struct Obtained {
  Entry entry;
  Origin origin = Origin::kBuilt;
};

class Layers {
 public:
  // `writable` nullopt: built entries stay with the caller only. Touches nothing.
  Layers(const std::vector<Path>& read_only, const std::optional<Path>& writable, std::shared_ptr<spdlog::logger> log,
         std::shared_ptr<FileSystem> files = real_file_system());

  // The entry from the first layer that has it, else producer()'s, which is then published to the writable layer. A
  // failed publish is one warning; the built entry is returned all the same. A hit in a read-only layer touches no
  // writable path.
  [[nodiscard]] Obtained obtain(const Request& request, const Producer& producer, const Acceptable& acceptable);

 private:
  void keep(const Entry& entry);

  std::vector<Store> read_only_;
  std::optional<Store> writable_;
  std::shared_ptr<spdlog::logger> log_;
  std::atomic<bool> warned_{false};
};

}  // namespace cakejit::cache
