// An entry's folder: opening it with nobody else's hands on it, reading it whole, writing it.
#pragma once

#include <memory>
#include <string>

#include "cache/entry.hpp"
#include "cache/file_system.hpp"
#include "cache/layout.hpp"

namespace cakejit::cache {

// A folder that code must not be loaded from, since others can write it.
class Distrusted : public Error {
 public:
  using Error::Error;
};

// A cache directory that can't be opened at all.
class Unreachable : public Error {
 public:
  using Error::Error;
};

// The folder of the entry `name`, opened step by step: root, v1, shard, entry; nullptr when one is not there. Each must be a directory
// that this user or root owns and that nobody else can write; below the root none may be a symbolic link. Throws
// Unreachable, Distrusted, ShortageError, or Error(CACHE) where only the entry itself is wrong.
std::unique_ptr<Directory> open_entry(const FileSystem& files, const Layout& layout, const std::string& name);

// manifest.json alone, with its name checked. Throws Error(CACHE) that says what is damaged.
Manifest read_manifest(const Directory& folder, const std::string& name);

// Manifest, code and, if wanted, source, with sizes and checksums verified. Throws Error(CACHE) that says what is damaged.
Entry read_entry(const Directory& folder, const std::string& name, bool with_source);

// Throws Error(CACHE) unless the entry's bytes are what its manifest says, and its manifest one that parses.
void require_consistent(const Entry& entry);

// Makes the folder `path` and writes the entry into it; all is synced. Throws Error(CACHE).
void write_entry(FileSystem& files, const Layout& layout, const Path& path, const Entry& entry);

// Bytes of the files that write_entry makes.
std::uint64_t written_bytes(const Entry& entry);

}  // namespace cakejit::cache
