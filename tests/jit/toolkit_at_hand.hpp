// The toolchain that this machine offers to the tests, and a small program to compile with it.
#pragma once

#include <memory>
#include <string>

#include "jit/compile.hpp"

namespace cakejit::jit::testing {

// Found as the library finds it (CAKEJIT_TOOLKIT_PATH, the loader, hints, /usr/local); nullptr, after a WARN that says
// SKIPPED, where there is none.
std::shared_ptr<const Toolchain> toolkit_at_hand();

// A forward kernel with 1,024 bytes of static shared memory and a reduce kernel with a stack frame.
CompileRequest sample_request(const std::string& name, const std::string& target);

}  // namespace cakejit::jit::testing
