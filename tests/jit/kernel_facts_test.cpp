#include "jit/kernel_facts.hpp"

#include <catch2/catch.hpp>

using namespace cakejit::jit;

namespace {

// As nvJitLink 12.0 and 13.5 print it; a spilling kernel and a device function added.
constexpr const char* kLog120 = R"(ptxas info    : 324 bytes gmem
ptxas info    : Compiling entry function 'foo_reduce' for 'sm_90a'
ptxas info    : Function properties for foo_reduce
ptxas         .     400 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 32 registers
ptxas info    : Compiling entry function 'foo_forward' for 'sm_90a'
ptxas info    : Function properties for foo_forward
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, 1024 bytes smem
)";

constexpr const char* kLog135 = R"(ptxas info    : 20 bytes gmem
ptxas info    : Compiling entry function 'foo_reduce' for 'sm_90a'
ptxas info    : Function properties for foo_reduce
ptxas         .     400 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers, 400 bytes cumulative stack size
ptxas info    : Compile time = 43.527 ms
ptxas info    : Function properties for helper
ptxas         .     8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Compiling entry function 'foo_forward' for 'sm_90a'
ptxas info    : Function properties for foo_forward
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 14.084 ms)";

}  // namespace

TEST_CASE("registers, shared memory, stack and spills are read from ptxas' log, old form and new") {
  const KernelFacts forward{.symbol = "foo_forward", .registers = 18, .shared_bytes = 1024};
  KernelFacts reduce{"foo_reduce", 32, 0, 400, 12, 16};
  CHECK(parse_ptxas_log(kLog120) == std::vector{reduce, forward});
  reduce.registers = 40;
  CHECK(parse_ptxas_log(kLog135) == std::vector{reduce, forward});
}

TEST_CASE("a log without kernels gives no facts") {
  for (const char* log :
       {"", "\n\n", "ptxas info    : 20 bytes gmem\n", "Used 12 registers", "Compiling entry function '",
        "Compiling entry function ''", "Function properties for x\n 8 bytes stack frame"}) {
    CAPTURE(log);
    CHECK(parse_ptxas_log(log).empty());
  }
}

TEST_CASE("numbers that can't be read stay zero") {
  const std::string head = "ptxas info : Compiling entry function 'k' for 'sm_90a'\n";
  for (const char* line : {"Used  registers", "Used 99999999999999999999 registers", "Used x registers",
                           "used 12 registers", "Used 12 register"}) {
    CAPTURE(line);
    CHECK(parse_ptxas_log(head + line) == std::vector{KernelFacts{.symbol = "k"}});
  }
}

TEST_CASE("a log cut anywhere is read without harm") {
  const std::string log = kLog135;
  for (size_t length = 0; length <= log.size(); ++length) {
    CHECK(parse_ptxas_log(std::string_view(log).substr(0, length)).size() <= 2);
  }
}
