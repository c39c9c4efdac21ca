#include "tests/support/executor.hpp"

#include <cstring>
#include <new>

namespace cakejit::test {
namespace {

constexpr std::align_val_t kAlignment{256};

}  // namespace

void* HostExecutor::allocate(std::size_t bytes) {
  return ::operator new(bytes, kAlignment);
}

void HostExecutor::free(void* memory) noexcept {
  ::operator delete(memory, kAlignment);
}

void HostExecutor::upload(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

void HostExecutor::download(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

}  // namespace cakejit::test
