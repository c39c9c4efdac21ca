// A good problem and good arguments for it, and what a call throws; shared by the tests of runtime/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "cakejit/cake_causal_conv1d_det_train.h"
#include "cakejit/error.hpp"

namespace cakejit::runtime::testing {

// 10 tokens of 8 channels in 3 documents; bf16, bias, both passes, on the host.
inline cake_causal_conv1d_det_train_problem sample_problem() {
  return {.struct_size = sizeof(cake_causal_conv1d_det_train_problem),
          .device = CAKE_DEVICE_HOST,
          .tokens = 10,
          .channels = 8,
          .documents = 3,
          .dtype = CAKE_DTYPE_BF16,
          .weight_dtype = CAKE_DTYPE_BF16,
          .bias_dtype = CAKE_DTYPE_BF16,
          .weight_grad_dtype = CAKE_DTYPE_FP32,
          .bias_grad_dtype = CAKE_DTYPE_FP32,
          .cu_seqlens_dtype = CAKE_DTYPE_INT32,
          .activation = CAKE_ACTIVATION_SILU,
          .x_row_stride = 8,
          .y_row_stride = 8,
          .dy_row_stride = 8,
          .dx_row_stride = 8};
}

// Host memory for the sample problem, and the arguments that point into it.
struct SampleBuffers {
  template <std::size_t Bytes>
  struct alignas(16) Buffer {
    std::array<std::byte, Bytes + 16> bytes{};  // room to move the pointer in
    [[nodiscard]] void* get() { return bytes.data(); }
  };

  Buffer<160> x, y, dy, dx;
  Buffer<64> weight;
  Buffer<16> bias;
  Buffer<128> dweight;
  Buffer<32> dbias;
  Buffer<4096> workspace;
  alignas(8) std::array<std::int32_t, 4> cu_seqlens{0, 4, 4, 10};

  cake_causal_conv1d_det_train_forward_args forward() {
    return {.struct_size = sizeof(cake_causal_conv1d_det_train_forward_args),
            .x = x.get(),
            .weight = weight.get(),
            .bias = bias.get(),
            .cu_seqlens = cu_seqlens.data(),
            .cu_seqlens_host = nullptr,
            .y = y.get(),
            .workspace = nullptr,
            .workspace_bytes = 0};
  }

  cake_causal_conv1d_det_train_backward_args backward() {
    return {.struct_size = sizeof(cake_causal_conv1d_det_train_backward_args),
            .x = x.get(),
            .weight = weight.get(),
            .bias = bias.get(),
            .dy = dy.get(),
            .cu_seqlens = cu_seqlens.data(),
            .cu_seqlens_host = nullptr,
            .dx = dx.get(),
            .dweight = dweight.get(),
            .dbias = dbias.get(),
            .workspace = workspace.get(),
            .workspace_bytes = workspace.bytes.size()};
  }
};

// Puts any number where an enum is, as a C caller can.
template <class Enum>
void set_code(Enum& field, int code) {
  static_assert(sizeof(Enum) == sizeof code);
  std::memcpy(&field, &code, sizeof code);
}

// The pointer moved by some bytes; `const void*` members take it too.
inline void* moved(const void* pointer, std::ptrdiff_t bytes) {
  return const_cast<char*>(static_cast<const char*>(pointer)) + bytes;
}

// The number that `constexpr int <name> = <number>;` gives in a kernel's text; -1 where there is none such.
inline int source_constant(std::string_view text, const std::string& name) {
  const std::string definition = "constexpr int " + name + " = ";
  const std::size_t at = text.find(definition);
  return at == std::string_view::npos ? -1 : std::atoi(text.data() + at + definition.size());
}

struct Caught {
  cake_status status = CAKE_STATUS_OK;
  std::string message;  // "" when nothing was thrown
};

template <class Call>
Caught caught(Call&& call) {
  try {
    call();
    return {};
  } catch (const Error& error) {
    return {error.status(), error.what()};
  }
}

}  // namespace cakejit::runtime::testing
