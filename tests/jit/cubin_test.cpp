#include "jit/cubin.hpp"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "cakejit/error.hpp"
#include "tests/jit/toolkit_at_hand.hpp"
#include "tests/support/tiny_cubin.hpp"

using namespace cakejit;
using namespace cakejit::jit;

using cakejit::test::kTinyCubinSections;
using cakejit::test::kTinyCubinSymbols;

namespace {

std::string tiny_cubin() {
  return cakejit::test::tiny_cubin({"kernel"});
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

TEST_CASE("a cubin without a kernel that it must hold is refused by name") {
  const std::string cubin = cakejit::test::tiny_cubin({"one", "two"});
  CHECK_NOTHROW(require_kernels(cubin, {"two", "one"}));
  CHECK_THROWS_WITH(require_kernels(cubin, {"one", "other"}), "a cubin without the kernel other (it holds: one, two)");
  CHECK_THROWS_WITH(require_kernels("text", {}), Catch::StartsWith("not a cubin: "));
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
  const size_t symtab = kTinyCubinSections + 2 * sizeof(Elf64_Shdr);
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
      {kTinyCubinSymbols + sizeof(Elf64_Sym), 0xffffffff, 4, "a name at byte 4294967295"},
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
  const auto toolchain = jit::testing::toolkit_at_hand();
  if (!toolchain) return;
  const auto library = compile(*toolchain, jit::testing::sample_request("probe", "sm_80"));
  CHECK(cubin_kernels(library.cubin) == std::vector<std::string>{"probe_forward", "probe_reduce"});
}
