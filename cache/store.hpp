// One cache directory (layout: docs/cache-format.md). An entry appears complete or not at all: it is written to a private
// folder of the same file system, synced, and renamed into place. Readers take no lock; correctness never rests on one.
#pragma once

#include <spdlog/logger.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/counters.hpp"
#include "cache/entry.hpp"
#include "cache/file_system.hpp"
#include "cache/layout.hpp"

namespace cakejit::cache {

enum class Access { kReadOnly, kReadWrite };

// How large a directory may grow; 0: without limit.
struct Caps {
  std::uint64_t bytes = 0;  // of the entries' files
  std::uint64_t entries = 0;
};

struct StoreOptions {
  Sharing sharing = Sharing::kPrivate;
  Caps caps;
};

// What a caller asks for. An entry whose manifest disagrees with any of these is not served.
struct Request {
  std::string name;
  std::string digest;
  std::string target;
  int abi_version = 0;
  CodeKind code_kind = CodeKind::kCubin;
  // Not compared; they let the log say in what the nearest entry differs.
  std::map<std::string, std::string> specialization = {};
  // What the caller knows of sound code; throws Error with what is wrong. May be empty.
  std::function<void(const Entry&)> check = {};
};

// A path and what is wrong with the entry there.
struct Damage {
  Path path;
  std::string reason;
};

// What becomes of a sound entry of the same name.
enum class Existing { kKeep, kReplace };

// Copies share nothing but the file system and the log; all members may be called from any thread.
class Store {
 public:
  // Touches nothing. A read-only store never creates, changes or removes anything below `root`.
  Store(Path root, Access access, std::shared_ptr<spdlog::logger> log,
        std::shared_ptr<FileSystem> files = real_file_system(), const StoreOptions& options = {});

  // The entry, verified (trust, manifest, identity, size, checksum), without its source; nullopt when there is none. A
  // damaged entry is a miss: it is set aside (read-write store) or passed over, one in a folder that others can write
  // is passed over; both are logged. In a read-write store the use is noted. Never throws but std::bad_alloc.
  [[nodiscard]] std::optional<Entry> load(const Request& request) const;

  // Publishes an entry. If a sound one of that name is there already, it stays, unless it is to be replaced. Then keeps the
  // directory below its caps. Throws Error(CACHE) with the path, the system's reason and what to do; then the store is
  // as it was.
  void publish(const Entry& entry, Existing existing = Existing::kKeep) const;

  // Manifests of all sound entries, sorted by name. Checks manifests only unless `verify_code`; what is damaged goes to
  // `damaged`.
  [[nodiscard]] std::vector<Manifest> list(std::vector<Damage>* damaged = nullptr, bool verify_code = false) const;

  // One whole entry with its source; nullopt when there is none of that name. Throws Error(CACHE) when it is damaged.
  [[nodiscard]] std::optional<Entry> read(const std::string& name) const;

  // Removes the entry; false when there is none of that name. Throws Error(CACHE).
  bool remove(const std::string& name) const;

  // Sets whatever lies at the path of that name aside, without a look at it. Throws Error(CACHE).
  void quarantine(const std::string& name) const;

  // Removes what dead processes left behind. Never throws but std::bad_alloc.
  void sweep() const;

  // What lies at the path of that name now; nullopt for nothing.
  [[nodiscard]] std::optional<FileIdentity> identity(const std::string& name) const;

  // Where an entry of this name lies. `name` must be a library name (is_library_name); throws Error(CACHE) otherwise.
  [[nodiscard]] Path entry_path(const std::string& name) const;
  [[nodiscard]] const Path& root() const { return layout_.root; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] Access access() const { return access_; }
  [[nodiscard]] const std::shared_ptr<FileSystem>& files() const { return files_; }
  [[nodiscard]] const CounterFile& counters() const { return counters_; }

 private:
  void require_writable() const;
  void require_trusted(const std::string& name) const;
  [[nodiscard]] bool try_set_aside(const std::string& name, const std::optional<FileIdentity>& only) const;
  void place(const Path& temporary, const Entry& entry, Existing existing) const;
  void keep_below_caps(const Counters& now) const;
  void warn_once(const std::string& message) const;

  Layout layout_;
  Access access_;
  std::shared_ptr<spdlog::logger> log_;
  std::shared_ptr<FileSystem> files_;
  Caps caps_;
  CounterFile counters_;
  std::shared_ptr<std::atomic<bool>> warned_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace cakejit::cache
