// Wrong contents of cu_seqlens on the emulated GPU, where every access is checked: wrong numbers, but none out of
// bounds, every output written, and no undefined behaviour.
#include <catch2/catch.hpp>

#include <limits>

#include "tests/emulation/emulated_context.hpp"
#include "tests/emulation/operation_buffers.hpp"
#include "tests/support/random_data.hpp"

using namespace cakejit::emulation;
using cakejit::test::Offsets;
using cakejit::test::Random;

namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLowest32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kHighest32 = std::numeric_limits<std::int32_t>::max();

// Five documents' worth of nonsense for S tokens; what fits in 32 bits if `narrow`.
std::vector<Offsets> wrong_offsets(std::int64_t tokens, bool narrow) {
  const std::int64_t lowest = narrow ? kLowest32 : kLowest;
  const std::int64_t highest = narrow ? kHighest32 : kHighest;
  std::vector<Offsets> all = {
      {0, 50, 20, 60, 30, tokens},      // decreasing
      {5, 20, 30, 60, 90, tokens},      // does not start at 0
      {-5, 20, 30, 60, 90, tokens},     // starts before 0
      {0, 20, 30, 60, 90, tokens - 1},  // ends before S
      {0, 20, 30, 60, 90, tokens + 7},  // ends after S
      {0, 0, 0, 0, 0, 0},
      {tokens, tokens, tokens, tokens, tokens, tokens},
      {lowest, highest, lowest, highest, lowest, highest},
      {highest, lowest, highest, lowest, highest, lowest},
      {lowest, lowest, lowest, lowest, lowest, lowest},
      {highest, highest, highest, highest, highest, highest},
      {tokens, 90, 60, 30, 20, 0},  // backwards
  };
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    Offsets offsets(6);
    for (std::int64_t& offset : offsets) {
      offset = random.chance(0.7) ? random.integer(-40, tokens + 40) : random.integer(lowest, highest);
    }
    all.push_back(offsets);
  }
  return all;
}

}  // namespace

TEST_CASE("emulated, wrong contents of cu_seqlens read and write nothing out of bounds") {
  EmulatedExecutor executor;
  const EmulatedContext context;
  for (const OperationCase& operation_case : wrong_offset_cases()) {
    OperationBuffers buffers(executor, operation_case);
    const bool narrow = operation_case.cu_seqlens_dtype == CAKE_DTYPE_INT32;
    for (const Offsets& offsets : wrong_offsets(operation_case.tokens(), narrow)) {
      CAPTURE(operation_case, offsets);
      buffers.cu_seqlens.write_integers(offsets);
      CHECK(buffers.run(context.get()) == "");
    }
  }
}
