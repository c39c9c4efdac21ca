// One cache directory. Layout (docs/cache-format.md):
//   <root>/v1/<first two digits of the digest>/<library name>/{manifest.json, code.cubin | code.ltoir, source.cu,
//   key.txt} <root>/v1/tmp/         entries being written <root>/v1/quarantine/  damaged entries, a bounded number, for
//   whoever wants to know what happened
// An entry appears complete or not at all: it is written to a private folder of the same file system, synced, and
// renamed into place. Readers take no lock. Correctness never rests on a lock.
#pragma once

#include <spdlog/logger.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/entry.hpp"
#include "cache/file_system.hpp"

namespace cakejit::cache {

enum class Access { kReadOnly, kReadWrite };

// Permissions of what is created: for the user alone, or readable by all (an AOT layer to be shipped).
enum class Sharing { kPrivate, kReadable };

// What a caller asks for. An entry whose manifest disagrees with any of these is not served.
struct Request {
  std::string name;
  std::string digest;
  std::string target;
  int abi_version = 0;
};

// A path and what is wrong with the entry there.
struct Damage {
  Path path;
  std::string reason;
};

class Store {
 public:
  // Touches nothing. A read-only store never creates, changes or removes anything below `root`.
  Store(Path root, Access access, std::shared_ptr<spdlog::logger> log,
        std::shared_ptr<FileSystem> files = real_file_system(), Sharing sharing = Sharing::kPrivate);

  // The entry, verified (trust, manifest, identity, size, checksum), without its source; nullopt when there is none. A
  // damaged entry is a miss: it is set aside (read-write store) or passed over, one in a folder that others can write
  // is passed over; both are logged. Never throws but std::bad_alloc.
  [[nodiscard]] std::optional<Entry> load(const Request& request) const;

  // Publishes an entry. If a sound one of that name is there already, it stays. Throws Error(CACHE) with the path, the
  // system's reason and what to do; then the store is as it was.
  void publish(const Entry& entry) const;

  // Manifests of all sound entries, sorted by name. Checks manifests only unless `verify_code`; what is damaged goes to
  // `damaged`.
  [[nodiscard]] std::vector<Manifest> list(std::vector<Damage>* damaged = nullptr, bool verify_code = false) const;

  // One whole entry with its source; nullopt when there is none of that name. Throws Error(CACHE) when it is damaged.
  [[nodiscard]] std::optional<Entry> read(const std::string& name) const;

  // Removes the entry; false when there is none of that name. Throws Error(CACHE).
  bool remove(const std::string& name) const;

  // Where an entry of this name lies. `name` must be a library name (is_library_name); throws Error(CACHE) otherwise.
  [[nodiscard]] Path entry_path(const std::string& name) const;
  [[nodiscard]] const Path& root() const { return root_; }
  [[nodiscard]] Access access() const { return access_; }

 private:
  // Why the entry's folders must not be loaded from ("" if they may): code runs with the user's rights.
  [[nodiscard]] std::string distrust(const std::string& name) const;
  [[nodiscard]] Entry read_verified(const std::string& name, bool with_source) const;
  void write_entry(const Path& directory, const Entry& entry) const;
  void set_aside(const std::string& name) const;
  void sweep_temporaries() const;
  [[nodiscard]] mode_t directory_mode() const { return sharing_ == Sharing::kPrivate ? 0700 : 0755; }
  [[nodiscard]] mode_t file_mode() const { return sharing_ == Sharing::kPrivate ? 0600 : 0644; }

  Path root_;
  Access access_;
  std::shared_ptr<spdlog::logger> log_;
  std::shared_ptr<FileSystem> files_;
  Sharing sharing_;
};

}  // namespace cakejit::cache
