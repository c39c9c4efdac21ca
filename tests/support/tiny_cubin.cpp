#include "tests/support/tiny_cubin.hpp"

#include <cstring>

namespace cakejit::test {
namespace {

constexpr unsigned char kCudaEntry = 0x10;

template <class T>
void put(std::string& file, std::size_t offset, const T& value) {
  std::memcpy(file.data() + offset, &value, sizeof(T));
}

Elf64_Sym symbol(std::size_t name, unsigned char type, unsigned char other) {
  Elf64_Sym s{};
  s.st_name = static_cast<Elf64_Word>(name);
  s.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, type));
  s.st_other = other;
  s.st_shndx = 1;
  s.st_size = 128;
  return s;
}

Elf64_Shdr section(Elf64_Word type, std::size_t offset, std::size_t size, Elf64_Word link) {
  Elf64_Shdr s{};
  s.sh_type = type;
  s.sh_offset = offset;
  s.sh_size = size;
  s.sh_link = link;
  return s;
}

}  // namespace

std::string tiny_cubin(const std::vector<std::string>& kernels) {
  std::string names(1, '\0');
  std::vector<Elf64_Sym> symbols(1);
  for (const std::string& kernel : kernels) {
    symbols.push_back(symbol(names.size(), STT_FUNC, kCudaEntry));
    names += kernel + '\0';
  }
  symbols.push_back(symbol(names.size(), STT_FUNC, 0));
  symbols.push_back(symbol(names.size(), STT_OBJECT, kCudaEntry));
  names += std::string("other") + '\0';

  const std::size_t symbol_bytes = symbols.size() * sizeof(Elf64_Sym);
  const std::size_t names_at = kTinyCubinSymbols + symbol_bytes;
  std::string file(names_at, '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_CUDA;
  header.e_shoff = kTinyCubinSections;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  put(file, 0, header);
  put(file, kTinyCubinSections + sizeof(Elf64_Shdr), section(SHT_STRTAB, names_at, names.size(), 0));
  put(file, kTinyCubinSections + 2 * sizeof(Elf64_Shdr), section(SHT_SYMTAB, kTinyCubinSymbols, symbol_bytes, 1));
  std::memcpy(file.data() + kTinyCubinSymbols, symbols.data(), symbol_bytes);
  return file + names;
}

}  // namespace cakejit::test
