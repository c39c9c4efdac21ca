#include "jit/cubin.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

#include "cakejit/error.hpp"

namespace cakejit::jit {
namespace {

// In a symbol's st_other: the function is a kernel. Seen in all cubins of CUDA 12.0 to 13.5.
constexpr unsigned char kCudaEntry = 0x10;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(CAKE_STATUS_COMPILE_FAILED, fmt::format("not a cubin: {}", why));
}

std::string_view bytes_at(std::string_view file, std::uint64_t offset, std::uint64_t size, const char* what) {
  if (offset > file.size() || size > file.size() - offset) {
    refuse(fmt::format("{} at byte {}, {} bytes long, ends past the file's {}", what, offset, size, file.size()));
  }
  return file.substr(offset, size);
}

template <class T>
T read(std::string_view file, std::uint64_t offset, const char* what) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes_at(file, offset, sizeof(T), what).data(), sizeof(T));
  return value;
}

Elf64_Ehdr read_header(std::string_view file) {
  const auto header = read<Elf64_Ehdr>(file, 0, "the ELF header");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) refuse("no ELF signature");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    refuse("not a 64-bit little-endian ELF file");
  }
  if (header.e_machine != EM_CUDA)
    refuse(fmt::format("made for ELF machine {}, not CUDA ({})", header.e_machine, EM_CUDA));
  if (header.e_shentsize != sizeof(Elf64_Shdr)) refuse(fmt::format("section headers of {} bytes", header.e_shentsize));
  return header;
}

Elf64_Shdr read_section(std::string_view file, const Elf64_Ehdr& header, std::uint32_t index) {
  if (index >= header.e_shnum) refuse(fmt::format("section {} of {}", index, header.e_shnum));
  const std::uint64_t relative = std::uint64_t{index} * sizeof(Elf64_Shdr);
  bytes_at(file, header.e_shoff, relative + sizeof(Elf64_Shdr), "the section table");
  return read<Elf64_Shdr>(file, header.e_shoff + relative, "a section header");
}

std::string name_at(std::string_view strings, std::uint32_t offset) {
  if (offset >= strings.size()) refuse(fmt::format("a name at byte {} of {}", offset, strings.size()));
  strings.remove_prefix(offset);
  const size_t end = strings.find('\0');
  if (end == std::string_view::npos) refuse("a name without an end");
  return std::string(strings.substr(0, end));
}

void add_kernels(std::vector<std::string>& kernels, std::string_view symbols, std::string_view strings) {
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = read<Elf64_Sym>(symbols, at, "a symbol");
    const bool is_kernel = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && (symbol.st_other & kCudaEntry) != 0;
    if (is_kernel && symbol.st_shndx != SHN_UNDEF && symbol.st_size > 0) {
      kernels.push_back(name_at(strings, symbol.st_name));
    }
  }
}

}  // namespace

std::vector<std::string> cubin_kernels(std::string_view cubin) {
  const Elf64_Ehdr header = read_header(cubin);
  std::vector<std::string> kernels;
  for (std::uint32_t index = 0; index < header.e_shnum; ++index) {
    const Elf64_Shdr section = read_section(cubin, header, index);
    if (section.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr names = read_section(cubin, header, section.sh_link);
    add_kernels(kernels, bytes_at(cubin, section.sh_offset, section.sh_size, "the symbol table"),
                bytes_at(cubin, names.sh_offset, names.sh_size, "the symbols' names"));
  }
  std::ranges::sort(kernels);
  return kernels;
}

void require_kernels(std::string_view cubin, const std::vector<std::string>& symbols) {
  const std::vector<std::string> found = cubin_kernels(cubin);
  for (const std::string& symbol : symbols) {
    if (std::ranges::binary_search(found, symbol)) continue;
    throw Error(CAKE_STATUS_COMPILE_FAILED,
                fmt::format("a cubin without the kernel {} (it holds: {})", symbol,
                            found.empty() ? "no kernel" : fmt::format("{}", fmt::join(found, ", "))));
  }
}

}  // namespace cakejit::jit
