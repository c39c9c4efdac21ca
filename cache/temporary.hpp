// Folders below tmp/: private places where entries are written, and from where what is removed is deleted. Each has a lock
// of its own while its owner lives, so that anyone can tell what a dead process has left, on any machine.
#pragma once

#include <memory>
#include <string_view>

#include "cache/layout.hpp"

namespace cakejit::cache {

class Temporary {
 public:
  // A free name below tmp/, which is made; nothing is there yet. `purpose` is the beginning of the name. Throws
  // Error(CACHE).
  Temporary(FileSystem& files, const Layout& layout, std::string_view purpose);
  // Removes what is there; what can't be removed is swept later.
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  [[nodiscard]] const Path& path() const { return path_; }
  // Leaves what is there to the sweep.
  void abandon() { keep_ = true; }

 private:
  FileSystem& files_;
  Path path_;
  std::unique_ptr<HeldLock> lock_;
  bool keep_ = false;
};

// A process that is loading an entry is done with it after this.
inline constexpr std::int64_t kLoadSeconds = 60;

// What an evicted entry's folder is called below tmp/, where it stays for kLoadSeconds.
std::string evicted_purpose(std::int64_t now_unix_s);

// Removes what dead processes left below tmp/, and evicted entries that nobody can be loading any more. Where the file
// system has no locks, only what is older than an hour. Throws Error(CACHE).
void sweep_temporaries(FileSystem& files, const Layout& layout, std::int64_t now_unix_s);

// Seconds since 1970.
std::int64_t now_unix_s();

}  // namespace cakejit::cache
