// What ptxas says of each kernel (its -v output), read from the linker's information log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cakejit::jit {

struct KernelFacts {
  std::string symbol;
  int registers = 0;
  int shared_bytes = 0;  // static; without what the system reserves per block
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;

  friend bool operator==(const KernelFacts&, const KernelFacts&) = default;
};

// One item per "Compiling entry function" of the log, in its order. Lines it doesn't know are passed over; a number it
// can't read stays 0. The log's form was the same from CUDA 12.0 to 13.5.
std::vector<KernelFacts> parse_ptxas_log(std::string_view log);

}  // namespace cakejit::jit
