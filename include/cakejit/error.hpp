// The one exception type of cakejit, thrown by the C++ API and used inside the library.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "cakejit/status.h"

namespace cakejit {

// what() is the whole message: what was wrong, where, the value, what is allowed, what to do.
class Error : public std::runtime_error {
 public:
  Error(cake_status status, const std::string& message) : std::runtime_error(message), status_(status) {}

  [[nodiscard]] cake_status status() const noexcept { return status_; }

  // The same error with a line in front that says during what it happened.
  [[nodiscard]] Error with_context(const std::string& doing) const { return {status_, doing + ": " + what()}; }

 private:
  cake_status status_;
};

}  // namespace cakejit
