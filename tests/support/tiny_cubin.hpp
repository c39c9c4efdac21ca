// The least that is a cubin, for tests that need one and have no compiler.
#pragma once

#include <cstddef>
#include <elf.h>
#include <string>
#include <vector>

namespace cakejit::test {

// Where the parts lie: the header, three section headers (null, names, symbols), the symbols, the names.
inline constexpr std::size_t kTinyCubinSections = sizeof(Elf64_Ehdr);
inline constexpr std::size_t kTinyCubinSymbols = kTinyCubinSections + 3 * sizeof(Elf64_Shdr);

// Holds these kernels as symbols 1, 2, ..., then a device function and an object named "other". No code.
std::string tiny_cubin(const std::vector<std::string>& kernels);

}  // namespace cakejit::test
