// The emulation finds what it is there to find: each of the wrong kernels is told, under any schedule, and the sound
// one passes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <span>

#include "tests/emulation/device.hpp"
#include "tests/emulation/faulty_kernels.hpp"

using namespace cakejit::emulation;

namespace {

constexpr std::uint64_t kSchedules = 50;
constexpr std::size_t kMostFloats = std::size_t{2} * kFaultyThreads;  // of two blocks

// Memory of the emulated GPU for one of the small kernels.
class Tensors {
 public:
  explicit Tensors(unsigned blocks = 1, bool fill_scratch = true)
      : params{tensor(), tensor(), tensor(), blocks * kFaultyThreads} {
    std::vector<float> values(kMostFloats);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const std::size_t bytes = sizeof(float) * kMostFloats;
    device().memory().upload(const_cast<float*>(params.in), values.data(), bytes);
    if (fill_scratch) device().memory().upload(params.scratch, values.data(), bytes);
  }
  ~Tensors() {
    for (const float* memory :
         {params.in, static_cast<const float*>(params.out), static_cast<const float*>(params.scratch)}) {
      device().memory().free(const_cast<float*>(memory));
    }
  }
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  const FaultyParams params;

 private:
  static float* tensor() { return static_cast<float*>(device().memory().allocate(sizeof(float) * kMostFloats)); }
};

// What any of the kernels may touch.
std::vector<Operand> operands(const void* params) {
  const auto& p = *static_cast<const FaultyParams*>(params);
  const auto tensor = [&](const char* name, const void* pointer, int use) {
    return Operand{name, pointer, static_cast<Use>(use), 1, 4 * p.floats, 4 * p.floats};
  };
  return {tensor("in", p.in, kRead), tensor("out", p.out, kWrite), tensor("scratch", p.scratch, kRead | kWrite)};
}

std::string launched(const CompiledKernel& code, const FaultyParams& params, unsigned blocks = 1,
                     bool programmatic = false) {
  return device().launch({code, false, operands}, {blocks, kFaultyThreads, programmatic}, &params);
}

}  // namespace

TEST_CASE("every wrong kernel is found, under any schedule") {
  for (const FaultyKernel& faulty : std::span(kFaultyKernels, kFaultyKernelCount)) {
    for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
      CAPTURE(faulty.fault, seed);
      const Tensors tensors(faulty.blocks, faulty.scratch_is_filled);
      device().set_seed(seed);
      CHECK_THAT(launched(faulty.code, tensors.params, faulty.blocks),
                 Catch::Matches(".*(" + std::string(faulty.violation) + ").*"));
    }
  }
}

TEST_CASE("a sound kernel is not found fault with, and its result is right, under any schedule") {
  const Tensors tensors(2);
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    device().set_seed(seed);
    CHECK(launched(kSoundKernel, tensors.params, 2) == "");
    CHECK(std::equal(tensors.params.in, tensors.params.in + kMostFloats, tensors.params.out));
  }
}

TEST_CASE("a grid that starts early is found to use what the grid before has not finished") {
  const auto run_early = [](const FaultyParams& params) { return launched(kSoundKernel, params, 1, true); };
  const Tensors first;
  const Tensors second;
  FaultyParams params = second.params;
  params.in = first.params.out;
  REQUIRE(launched(kSoundKernel, first.params) == "");
  CHECK_THAT(run_early(params), Catch::Contains("before grid_dependency_wait, what the grid before writes"));
  // Not without an early start, and not with tensors that the grid before does not touch.
  REQUIRE(launched(kSoundKernel, first.params) == "");
  CHECK(launched(kSoundKernel, params) == "");
  CHECK(run_early(Tensors().params) == "");

  params = second.params;
  params.out = first.params.out;
  REQUIRE(launched(kSoundKernel, first.params) == "");
  CHECK_THAT(run_early(params), Catch::Contains("before grid_dependency_wait, what the grid before writes"));

  params.out = const_cast<float*>(first.params.in);
  REQUIRE(launched(kSoundKernel, first.params) == "");
  CHECK_THAT(run_early(params), Catch::Contains("before grid_dependency_wait, what the grid before reads"));
}

TEST_CASE("a tensor in no allocation, and memory that was freed, are out of bounds") {
  const FaultyParams params = Tensors().params;
  CHECK_THAT(launched(kSoundKernel, params), Catch::Contains("is in no allocation"));
}

TEST_CASE("shared memory that nobody has filled holds other bytes in every launch, NaN among them") {
  const Tensors tensors;
  std::set<std::vector<float>> seen;
  bool nan = false;
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    device().set_seed(seed);
    REQUIRE(device().launch({kGarbageKernel, true, operands}, {1, kFaultyThreads, false}, &tensors.params) == "");
    std::vector<float> out(tensors.params.out, tensors.params.out + kFaultyThreads);
    for (float& value : out) {
      if (value != value) {
        nan = true;
        value = 0;
      }
    }
    seen.insert(out);
  }
  CHECK(nan);
  CHECK(seen.size() == kSchedules);
}
