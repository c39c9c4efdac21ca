#include "jit/cubin.hpp"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "cakejit/error.hpp"
#include "tests/jit/toolkit_at_hand.hpp"

using namespace cakejit;
using namespace cakejit::jit;

namespace {

template <class T>
void put(std::string& file, size_t offset, const T& value) {
  std::memcpy(file.data() + offset, &value, sizeof(T));
}

constexpr size_t kSections = sizeof(Elf64_Ehdr);
constexpr size_t kStrings = kSections + 3 * sizeof(Elf64_Shdr);
constexpr char kNames[] = "\0kernel\0device_function";
constexpr size_t kSymbols = kStrings + sizeof(kNames) + 7;

Elf64_Sym symbol(unsigned name, unsigned char type, unsigned char other) {
  Elf64_Sym s{};
  s.st_name = name;
  s.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
  s.st_other = other;
  s.st_shndx = 1;
  s.st_size = 128;
  return s;
}

// The least that is a cubin: a null section, names, and symbols (null, a kernel, a device function, an object).
std::string tiny_cubin() {
  std::string file(kSymbols + 4 * sizeof(Elf64_Sym), '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_CUDA;
  header.e_shoff = kSections;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  put(file, 0, header);
  Elf64_Shdr strings{};
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = kStrings;
  strings.sh_size = sizeof(kNames);
  put(file, kSections + sizeof(Elf64_Shdr), strings);
  Elf64_Shdr symbols{};
  symbols.sh_type = SHT_SYMTAB;
  symbols.sh_offset = kSymbols;
  symbols.sh_size = 4 * sizeof(Elf64_Sym);
  symbols.sh_link = 1;
  put(file, kSections + 2 * sizeof(Elf64_Shdr), symbols);
  std::memcpy(file.data() + kStrings, kNames, sizeof(kNames));
  put(file, kSymbols + 1 * sizeof(Elf64_Sym), symbol(1, STT_FUNC, 0x10));
  put(file, kSymbols + 2 * sizeof(Elf64_Sym), symbol(8, STT_FUNC, 0));
  put(file, kSymbols + 3 * sizeof(Elf64_Sym), symbol(1, STT_OBJECT, 0x10));
  return file;
}

// Any answer but a crash or another exception is right.
void read_hostile(const std::string& file) {
  try {
    (void)cubin_kernels(file);
  } catch (const Error& error) {
    CHECK(error.status() == CAKE_STATUS_COMPILE_FAILED);
  }
}

}  // namespace

TEST_CASE("kernels are told from device functions and objects") {
  CHECK(cubin_kernels(tiny_cubin()) == std::vector<std::string>{"kernel"});
}

TEST_CASE("a cubin that was cut is refused or read, never past its end") {
  const std::string file = tiny_cubin();
  for (size_t length = 0; length < file.size(); ++length) read_hostile(file.substr(0, length));
  CHECK_THROWS_AS(cubin_kernels(file.substr(0, file.size() - 1)), Error);
}

TEST_CASE("hostile fields are refused with what is wrong") {
  struct Case {
    size_t offset;
    std::uint64_t value;
    size_t bytes;
    const char* says;
  };
  const size_t symtab = kSections + 2 * sizeof(Elf64_Shdr);
  const Case cases[] = {
      {0, 0, 1, "no ELF signature"},
      {EI_CLASS, ELFCLASS32, 1, "64-bit"},
      {EI_DATA, ELFDATA2MSB, 1, "little-endian"},
      {offsetof(Elf64_Ehdr, e_machine), EM_X86_64, 2, "machine 62"},
      {offsetof(Elf64_Ehdr, e_shentsize), 8, 2, "section headers of 8 bytes"},
      {offsetof(Elf64_Ehdr, e_shnum), 0xffff, 2, "section table"},
      {offsetof(Elf64_Ehdr, e_shoff), ~0ull - 10, 8, "section table"},
      {symtab + offsetof(Elf64_Shdr, sh_link), 9, 4, "section 9 of 3"},
      {symtab + offsetof(Elf64_Shdr, sh_offset), ~0ull, 8, "symbol table"},
      {symtab + offsetof(Elf64_Shdr, sh_size), ~0ull, 8, "symbol table"},
      {kSymbols + sizeof(Elf64_Sym), 0xffffffff, 4, "a name at byte 4294967295"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.offset, c.says);
    std::string file = tiny_cubin();
    std::memcpy(file.data() + c.offset, &c.value, c.bytes);
    CHECK_THROWS_WITH(cubin_kernels(file), Catch::StartsWith("not a cubin: ") && Catch::Contains(c.says));
  }
}

TEST_CASE("random damage never crashes the reader") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string good = tiny_cubin();
  for (int round = 0; round < 20000; ++round) {
    std::string file = good;
    for (int change = 0; change < 3; ++change) file[random() % file.size()] = static_cast<char>(random());
    read_hostile(file);
  }
}

TEST_CASE("the kernels of a linked cubin are found") {
  const auto toolchain = testing::toolkit_at_hand();
  if (!toolchain) return;
  const auto library = compile(*toolchain, testing::sample_request("probe", "sm_80"));
  CHECK(cubin_kernels(library.cubin) == std::vector<std::string>{"probe_forward", "probe_reduce"});
}
