// Wrong contents of cu_seqlens on the emulated GPU, where every access is checked: wrong numbers, but none out of
// bounds, every output written, and no undefined behaviour.
#include <catch2/catch.hpp>

#include <limits>

#include "tests/emulation/cases.hpp"
#include "tests/emulation/emulated_context.hpp"
#include "tests/support/operation_tensors.hpp"
#include "tests/support/random_data.hpp"

using namespace cakejit::emulation;
using cakejit::test::GuardedTensor;
using cakejit::test::Offsets;
using cakejit::test::Random;
using cakejit::test::Slice;
using cakejit::test::TensorLayout;

namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLowest32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kHighest32 = std::numeric_limits<std::int32_t>::max();

// Tensors of one case, filled with numbers of no meaning.
class Buffers {
 public:
  Buffers(EmulatedExecutor& executor, const OperationCase& c)
      : case_(c),
        problem_(c.problem(CAKE_DEVICE_CUDA)),
        x_(executor, rows(c.x)),
        dy_(executor, rows(c.dy)),
        weight_(executor, TensorLayout::dense(c.weight_dtype, c.channels, 4)),
        bias_(executor, TensorLayout::dense(c.bias_dtype, 1, c.channels)),
        y_(executor, rows(c.y)),
        dx_(executor, rows(c.dx)),
        dweight_(executor, TensorLayout::dense(c.weight_grad_dtype, c.channels, 4)),
        dbias_(executor, TensorLayout::dense(c.bias_grad_dtype, 1, c.channels)),
        cu_seqlens_(executor, TensorLayout::dense(c.cu_seqlens_dtype, 1, problem_.documents + 1)),
        workspace_(executor, TensorLayout::dense(CAKE_DTYPE_FP32, 1, workspace_bytes() / 4)) {
    for (GuardedTensor* tensor : {&x_, &dy_, &weight_, &bias_}) tensor->fill(std::byte{0x3c});
  }

  // What both passes say; "" when all is well.
  std::string run(cake_context* context, const Offsets& offsets) {
    cu_seqlens_.write_integers(offsets);
    const cake_causal_conv1d_det_train_forward_args forward = {sizeof forward,
                                                               x_.pointer(),
                                                               weight_.pointer(),
                                                               bias_.pointer(),
                                                               cu_seqlens_.pointer(),
                                                               nullptr,
                                                               y_.pointer(),
                                                               nullptr,
                                                               0};
    const cake_causal_conv1d_det_train_backward_args backward = {
        sizeof backward,  x_.pointer(),         weight_.pointer(),
        bias_.pointer(),  dy_.pointer(),        cu_seqlens_.pointer(),
        nullptr,          dx_.pointer(),        dweight_.pointer(),
        dbias_.pointer(), workspace_.pointer(), static_cast<std::size_t>(workspace_bytes())};
    if (cake_causal_conv1d_det_train_forward(context, &problem_, &forward, nullptr) != CAKE_STATUS_OK ||
        cake_causal_conv1d_det_train_backward(context, &problem_, &backward, nullptr) != CAKE_STATUS_OK) {
      return cake_last_error();
    }
    return "";
  }

 private:
  [[nodiscard]] TensorLayout rows(const Slice& slice) const {
    return {case_.dtype, case_.tokens(), case_.channels, case_.row_stride(slice), slice.first_column};
  }
  [[nodiscard]] std::int64_t workspace_bytes() const {
    std::size_t bytes = 0;
    cake_causal_conv1d_det_train_backward_workspace_bytes(&problem_, &bytes);
    return static_cast<std::int64_t>(bytes);
  }

  const OperationCase& case_;
  cake_causal_conv1d_det_train_problem problem_;
  GuardedTensor x_, dy_, weight_, bias_, y_, dx_, dweight_, dbias_, cu_seqlens_, workspace_;
};

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
    Buffers buffers(executor, operation_case);
    const bool narrow = operation_case.cu_seqlens_dtype == CAKE_DTYPE_INT32;
    for (const Offsets& offsets : wrong_offsets(operation_case.tokens(), narrow)) {
      CAPTURE(operation_case, offsets);
      CHECK(buffers.run(context.get(), offsets) == "");
    }
  }
}
