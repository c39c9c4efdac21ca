// A shared library opened at run time (dlopen), closed with its owner.
#pragma once

#include <filesystem>
#include <string>

#include "cakejit/status.h"

namespace cakejit {

class DynamicLibrary {
 public:
  // Opens `name` (a path, or a bare soname for the loader's search). Throws Error(`status_on_failure`) with the
  // loader's words.
  DynamicLibrary(const std::string& name, cake_status status_on_failure);
  ~DynamicLibrary();
  DynamicLibrary(DynamicLibrary&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(DynamicLibrary&&) = delete;

  // Address of a symbol, nullptr if the library lacks it.
  [[nodiscard]] void* find(const char* symbol) const noexcept;

  // The file the library was loaded from, as the loader knows it; empty if it can't be told.
  [[nodiscard]] std::filesystem::path path() const;

 private:
  void* handle_;
};

}  // namespace cakejit
