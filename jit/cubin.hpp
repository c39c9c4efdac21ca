// The kernels that a cubin (an ELF file) holds. Every offset is checked: the bytes may come from anywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cakejit::jit {

// Symbols of all kernels, sorted. Throws Error(COMPILE_FAILED) that says what is wrong when the bytes are no cubin.
std::vector<std::string> cubin_kernels(std::string_view cubin);

// Throws Error(COMPILE_FAILED) when the bytes are no cubin ("no cubin: ...") or lack one of these kernels ("a cubin without the
// kernel ...").
void require_kernels(std::string_view cubin, const std::vector<std::string>& symbols);

}  // namespace cakejit::jit
