// The machine code of a cubin, counted: how often each instruction stands in each kernel.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace cakejit::runtime::testing {

// Instructions of one kernel by their full opcode ("LDGSTS.E.64"), each with its number. Loads into the zero register
// (fillers that ptxas puts before LDGSTS) are left out.
class Instructions {
 public:
  void add(const std::string& opcode) { ++counts_[opcode]; }

  // Of all opcodes that are `mnemonic` with any modifiers.
  [[nodiscard]] int count(std::string_view mnemonic) const;
  // Of those memory accesses that move `bytes` per thread.
  [[nodiscard]] int count(std::string_view mnemonic, int bytes) const;
  [[nodiscard]] bool empty() const { return counts_.empty(); }
  // "LDG.E x9, STG.E.64 x5, ..."
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::string, int> counts_;
};

// By kernel symbol. Throws std::runtime_error with nvdisasm's words when it fails.
std::map<std::string, Instructions> disassemble(const std::string& nvdisasm, const std::string& cubin);

// Parses `nvdisasm -c` output.
std::map<std::string, Instructions> parse_sass(const std::string& text);

}  // namespace cakejit::runtime::testing
