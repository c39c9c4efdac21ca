#include "runtime/host/kernels.hpp"

#include <vector>

#ifdef CAKEJIT_HOST_X86_KERNELS
#include <cpuid.h>
#endif

namespace cakejit::host {
namespace {

#ifdef CAKEJIT_HOST_X86_KERNELS
// Not every compiler's __builtin_cpu_supports knows "f16c".
bool has_f16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1u << 29)) != 0;
}
#endif

std::vector<const KernelTable*> detect_kernels() {
  std::vector<const KernelTable*> found = {&baseline_kernels()};
#ifdef CAKEJIT_HOST_X86_KERNELS
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  if (avx2) found.push_back(&avx2_kernels());
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    found.push_back(&avx512_kernels());
  }
#endif
  return found;
}

}  // namespace

std::span<const KernelTable* const> available_kernels() {
  static const std::vector<const KernelTable*> kernels = detect_kernels();
  return kernels;
}

}  // namespace cakejit::host
