// Where compiled kernels report to. They are compiled with -fsanitize=thread,bounds,..., but linked with these
// functions instead of the sanitizers' own: the compiler puts a call of __tsan_... before each access to memory that
// another thread could see, and one of __ubsan_... where an index or an operation is out of range. So the kernels need
// no wrappers around their accesses.
#include <fmt/format.h>

#include <cstdint>

#include "tests/emulation/grid.hpp"

using cakejit::emulation::Grid;
using cakejit::emulation::kRead;
using cakejit::emulation::kWrite;

namespace {

void access(const void* address, std::size_t bytes, cakejit::emulation::Use use) {
  if (Grid* grid = Grid::running()) grid->access(address, bytes, use);
}

// The first member of the data that every __ubsan_handle_... gets.
struct SourceLocation {
  const char* file;
  std::uint32_t line;
  std::uint32_t column;
};

[[noreturn]] void undefined(const void* data, const char* what) {
  const auto& where = *static_cast<const SourceLocation*>(data);
  Grid::running()->fail(fmt::format("{} at {}:{}:{}", what, where.file, where.line, where.column));
}

}  // namespace

#define HOOK extern "C" __attribute__((visibility("default")))

HOOK void __tsan_init() {}
HOOK void __tsan_func_entry(void*) {}
HOOK void __tsan_func_exit() {}

#define ACCESS_HOOKS(bytes)                                \
  HOOK void __tsan_read##bytes(void* address) {            \
    access(address, bytes, kRead);                         \
  }                                                        \
  HOOK void __tsan_write##bytes(void* address) {           \
    access(address, bytes, kWrite);                        \
  }                                                        \
  HOOK void __tsan_unaligned_read##bytes(void* address) {  \
    access(address, bytes, kRead);                         \
  }                                                        \
  HOOK void __tsan_unaligned_write##bytes(void* address) { \
    access(address, bytes, kWrite);                        \
  }
ACCESS_HOOKS(1)
ACCESS_HOOKS(2)
ACCESS_HOOKS(4)
ACCESS_HOOKS(8)
ACCESS_HOOKS(16)

HOOK void __tsan_read_range(void* address, std::size_t bytes) {
  access(address, bytes, kRead);
}
HOOK void __tsan_write_range(void* address, std::size_t bytes) {
  access(address, bytes, kWrite);
}

HOOK void __ubsan_handle_out_of_bounds_abort(void* data, std::uintptr_t index) {
  undefined(data, fmt::format("has the index {} out of its array's bounds", static_cast<std::intptr_t>(index)).c_str());
}
HOOK void __ubsan_handle_type_mismatch_v1_abort(void* data, std::uintptr_t) {
  undefined(data, "uses a misaligned pointer");
}
HOOK void __ubsan_handle_add_overflow_abort(void* data, std::uintptr_t, std::uintptr_t) {
  undefined(data, "overflows in an addition");
}
HOOK void __ubsan_handle_sub_overflow_abort(void* data, std::uintptr_t, std::uintptr_t) {
  undefined(data, "overflows in a subtraction");
}
HOOK void __ubsan_handle_mul_overflow_abort(void* data, std::uintptr_t, std::uintptr_t) {
  undefined(data, "overflows in a multiplication");
}
HOOK void __ubsan_handle_negate_overflow_abort(void* data, std::uintptr_t) {
  undefined(data, "overflows in a negation");
}
HOOK void __ubsan_handle_divrem_overflow_abort(void* data, std::uintptr_t, std::uintptr_t) {
  undefined(data, "divides by zero");
}
HOOK void __ubsan_handle_shift_out_of_bounds_abort(void* data, std::uintptr_t, std::uintptr_t) {
  undefined(data, "shifts by a number of bits that is out of range");
}
