// One cache directory. Layout: <root>/v1/<first two digest digits>/<library name>/{manifest.json, code.cubin, source.cu}.
// An entry appears complete or not at all: it is written to a private temporary folder of the same file system, synced,
// and renamed into place. Readers take no lock. Correctness never rests on a lock.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "cache/entry.hpp"

namespace cakejit::cache {

enum class Access { kReadOnly, kReadWrite };

// What a caller asks for. An entry whose manifest disagrees with any of these is not served.
struct Request {
  std::string name;
  std::string digest;
  std::string target;
  int abi_version = 0;
};

class Store {
 public:
  // Touches nothing. A read-only store never creates, changes or removes anything below `root`.
  Store(std::filesystem::path root, Access access, std::shared_ptr<spdlog::logger> log);

  // The entry, verified (manifest, sizes, checksum, identity), without its source; nullopt when there is none. A damaged
  // entry is a miss: it is set aside (read-write store) or passed over, and logged once.
  [[nodiscard]] std::optional<Entry> load(const Request& request) const;

  // Publishes an entry. If one of that name is there already, and sound, it stays. Throws Error(CACHE) with the
  // path, the system's reason and what to do; then the store is as it was.
  void publish(const Entry& entry);

  // Manifests of all entries, sorted by name; damaged ones are left out and, if `damaged` is given, their paths put there.
  [[nodiscard]] std::vector<Manifest> list(std::vector<std::filesystem::path>* damaged = nullptr) const;

  // One whole entry with its source; nullopt when there is none of that name. Throws Error(CACHE) when it is damaged.
  [[nodiscard]] std::optional<Entry> read(const std::string& name) const;

  [[nodiscard]] std::filesystem::path entry_path(const std::string& name) const;
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] Access access() const { return access_; }

 private:
  std::filesystem::path root_;
  Access access_;
  std::shared_ptr<spdlog::logger> log_;
};

}  // namespace cakejit::cache
