#include "runtime/validate.hpp"

#include <fmt/format.h>

#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "cakejit/error.hpp"
#include "runtime/overlap.hpp"

namespace cakejit::runtime {
namespace {

constexpr std::int64_t kMaxChannels = std::numeric_limits<std::int32_t>::max();
// Byte offsets of rows must fit in a signed 64-bit integer with room to spare.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 60;

template <class... Args>
[[noreturn]] void reject(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(CAKE_STATUS_INVALID_ARGUMENT, fmt::format(format, std::forward<Args>(args)...));
}

std::string_view dtype_name(cake_dtype dtype) {
  switch (dtype) {
    case CAKE_DTYPE_NONE: return "NONE";
    case CAKE_DTYPE_BF16: return "BF16";
    case CAKE_DTYPE_FP16: return "FP16";
    case CAKE_DTYPE_FP32: return "FP32";
    case CAKE_DTYPE_INT32: return "INT32";
    case CAKE_DTYPE_INT64: return "INT64";
  }
  return "no cake_dtype";
}

void require_dtype(const char* field, cake_dtype value, std::initializer_list<cake_dtype> allowed) {
  for (const cake_dtype dtype : allowed) {
    if (value == dtype) return;
  }
  std::string list;
  cake_dtype last = CAKE_DTYPE_NONE;
  for (const cake_dtype dtype : allowed) {
    if (!list.empty() && dtype == last) continue;  // FP32 beside a problem's own FP32
    list += fmt::format("{}{}", list.empty() ? "" : ", ", dtype_name(dtype));
    last = dtype;
  }
  reject("{} is {} (code {}); allowed here: {}", field, dtype_name(value), static_cast<int>(value), list);
}

void require_row_stride(const char* field, std::int64_t stride, const Problem& problem) {
  if (stride < problem.channels) {
    reject("{} is {} elements; it must be at least channels = {} (expanded tensors must be made contiguous first)",
           field, stride, problem.channels);
  }
  if (problem.tokens > 0 && stride > kMaxElements / problem.tokens) {
    reject("{} is {} elements with {} tokens; their product must not exceed 2^60", field, stride, problem.tokens);
  }
}

void require_pointer(const char* field, const void* pointer, cake_dtype dtype) {
  if (pointer == nullptr) reject("{} is NULL; it must point to {} elements", field, dtype_name(dtype));
  if (reinterpret_cast<std::uintptr_t>(pointer) % dtype_bytes(dtype) != 0) {
    reject("{} is at {}; {} elements must be aligned to {} bytes", field, pointer, dtype_name(dtype),
           dtype_bytes(dtype));
  }
}

void require_bias(const char* field, const void* pointer, cake_dtype dtype, cake_dtype bias_dtype) {
  if (bias_dtype != CAKE_DTYPE_NONE) return require_pointer(field, pointer, dtype);
  if (pointer != nullptr)
    reject("{} is given but the problem's bias_dtype is NONE; pass NULL or set bias_dtype", field);
}

// A tensor of the call, for the test of overlaps.
struct Named {
  const char* name;
  Extent extent;
};

Named rows_of(const char* name, const void* pointer, std::int64_t row_stride, const Problem& p) {
  const auto element = static_cast<std::int64_t>(dtype_bytes(p.dtype));
  return {name, {reinterpret_cast<std::uintptr_t>(pointer), p.tokens, p.channels * element, row_stride * element}};
}

Named array_of(const char* name, const void* pointer, std::int64_t elements, cake_dtype dtype) {
  return {name, contiguous(pointer, pointer == nullptr ? 0 : elements * static_cast<std::int64_t>(dtype_bytes(dtype)))};
}

std::string described(const Named& tensor) {
  const Extent& e = tensor.extent;
  return fmt::format("{} ({} x {} bytes from {:#x}{})", tensor.name, e.rows, e.row_bytes, e.begin,
                     e.rows > 1 ? fmt::format(", {} apart", e.stride_bytes) : "");
}

// Every output against every input and every other output. `outputs` includes the workspace.
void require_apart(std::span<const Named> outputs, std::span<const Named> inputs) {
  const auto require_pair_apart = [](const Named& output, const Named& other) {
    if (!overlap(output.extent, other.extent)) return;
    reject("{} overlaps {}; an output must not overlap an input, another output or the workspace", described(output),
           described(other));
  };
  for (const auto& tensors : {outputs, inputs}) {
    for (const Named& tensor : tensors) {
      if (!fits_address_space(tensor.extent)) reject("{} would end beyond the address space", described(tensor));
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const Named& input : inputs) require_pair_apart(outputs[i], input);
    for (const Named& other : outputs.subspan(i + 1)) require_pair_apart(outputs[i], other);
  }
}

void require_readable_documents(const char* field, const Problem& problem, const void* offsets) {
  if (offsets == nullptr) return;
  require_pointer(field, offsets, problem.cu_seqlens_dtype);
  validate_cu_seqlens(problem, offsets);
}

void require_documents(const Problem& problem, const void* cu_seqlens, const void* cu_seqlens_host) {
  if (problem.documents > 0) require_pointer("cu_seqlens", cu_seqlens, problem.cu_seqlens_dtype);
  if (problem.device == CAKE_DEVICE_HOST) require_readable_documents("cu_seqlens", problem, cu_seqlens);
  require_readable_documents("cu_seqlens_host", problem, cu_seqlens_host);
}

void require_workspace(const void* workspace, std::size_t bytes, std::size_t needed) {
  if (bytes < needed) {
    reject("workspace_bytes is {}; this problem needs {} (see the ..._workspace_bytes functions)", bytes, needed);
  }
  if (needed == 0) return;
  if (workspace == nullptr) reject("workspace is NULL; it must point to {} bytes", needed);
  if (reinterpret_cast<std::uintptr_t>(workspace) % 16 != 0) {
    reject("workspace is at {}; it must be aligned to 16 bytes", workspace);
  }
}

template <class Args>
Named weight_of(const Problem& problem, const Args& args) {
  return array_of("weight", args.weight, 4 * problem.channels, problem.weight_dtype);
}

template <class Args>
Named bias_of(const Problem& problem, const Args& args) {
  return array_of("bias", args.bias, problem.channels, problem.bias_dtype);
}

template <class Args>
Named offsets_of(const Problem& problem, const Args& args) {
  return array_of("cu_seqlens", args.cu_seqlens, problem.documents + 1, problem.cu_seqlens_dtype);
}

template <class Args>
Named workspace_of(const Args& args, std::size_t needed) {
  return {"workspace", contiguous(args.workspace, args.workspace == nullptr ? 0 : static_cast<std::int64_t>(needed))};
}

template <class Offset>
void check_offsets(const Problem& problem, const Offset* offsets) {
  if (offsets[0] != 0) reject("cu_seqlens[0] is {}; it must be 0", offsets[0]);
  for (std::int64_t i = 1; i <= problem.documents; ++i) {
    if (offsets[i] < offsets[i - 1]) {
      reject("cu_seqlens[{}] is {} after {} before it; offsets must not decrease", i, offsets[i], offsets[i - 1]);
    }
  }
  if (offsets[problem.documents] != problem.tokens) {
    reject("cu_seqlens[{}], the last, is {}; it must equal tokens = {}", problem.documents, offsets[problem.documents],
           problem.tokens);
  }
}

void validate_shape(const Problem& p) {
  if (p.device != CAKE_DEVICE_HOST && p.device != CAKE_DEVICE_CUDA) {
    reject("device is code {}; allowed: CAKE_DEVICE_HOST (0), CAKE_DEVICE_CUDA (1)", static_cast<int>(p.device));
  }
  if (p.tokens < 0) reject("tokens is {}; it must be 0 or more", p.tokens);
  if (p.channels < 1 || p.channels > kMaxChannels) {
    reject("channels is {}; it must be from 1 to {}", p.channels, kMaxChannels);
  }
  // Code on both sides computes documents + 1.
  if (p.documents < 0 || p.documents > kMaxElements) {
    reject("documents is {}; it must be 0 or more, and at most 2^60", p.documents);
  }
  if (p.documents == 0 && p.tokens != 0) {
    reject("documents is 0 but tokens is {}; every token must belong to a document", p.tokens);
  }
  if (p.activation != CAKE_ACTIVATION_IDENTITY && p.activation != CAKE_ACTIVATION_SILU) {
    reject("activation is code {}; allowed: IDENTITY (0), SILU (1)", static_cast<int>(p.activation));
  }
}

}  // namespace

std::size_t dtype_bytes(cake_dtype dtype) {
  switch (dtype) {
    case CAKE_DTYPE_BF16:
    case CAKE_DTYPE_FP16: return 2;
    case CAKE_DTYPE_FP32:
    case CAKE_DTYPE_INT32: return 4;
    case CAKE_DTYPE_INT64: return 8;
    case CAKE_DTYPE_NONE: break;
  }
  return 0;
}

void validate_problem(const Problem& p, std::uint32_t passes) {
  constexpr std::uint32_t kAllPasses = CAKE_PASS_FORWARD | CAKE_PASS_BACKWARD;
  if (passes == 0 || (passes & ~kAllPasses) != 0) {
    reject("passes is {:#x}; it must be CAKE_PASS_FORWARD (1), CAKE_PASS_BACKWARD (2) or both", passes);
  }
  validate_shape(p);
  require_dtype("dtype", p.dtype, {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16, CAKE_DTYPE_FP32});
  require_dtype("weight_dtype", p.weight_dtype, {p.dtype, CAKE_DTYPE_FP32});
  if (p.bias_dtype != CAKE_DTYPE_NONE) require_dtype("bias_dtype", p.bias_dtype, {p.dtype, CAKE_DTYPE_FP32});
  require_dtype("cu_seqlens_dtype", p.cu_seqlens_dtype, {CAKE_DTYPE_INT32, CAKE_DTYPE_INT64});
  if (p.cu_seqlens_dtype == CAKE_DTYPE_INT32 && p.tokens > std::numeric_limits<std::int32_t>::max()) {
    reject("cu_seqlens_dtype is INT32 but tokens is {}; use INT64", p.tokens);
  }
  require_row_stride("x_row_stride", p.x_row_stride, p);
  if ((passes & CAKE_PASS_FORWARD) != 0) require_row_stride("y_row_stride", p.y_row_stride, p);
  if ((passes & CAKE_PASS_BACKWARD) != 0) {
    require_row_stride("dy_row_stride", p.dy_row_stride, p);
    require_row_stride("dx_row_stride", p.dx_row_stride, p);
    require_dtype("weight_grad_dtype", p.weight_grad_dtype, {p.weight_dtype, CAKE_DTYPE_FP32});
    if (p.bias_dtype != CAKE_DTYPE_NONE) {
      require_dtype("bias_grad_dtype", p.bias_grad_dtype, {p.bias_dtype, CAKE_DTYPE_FP32});
    }
  }
}

void validate_forward_args(const Problem& problem, const ForwardArgs& args, std::size_t workspace_needed) {
  require_documents(problem, args.cu_seqlens, args.cu_seqlens_host);
  require_pointer("weight", args.weight, problem.weight_dtype);
  require_bias("bias", args.bias, problem.bias_dtype, problem.bias_dtype);
  if (problem.tokens > 0) {
    require_pointer("x", args.x, problem.dtype);
    require_pointer("y", args.y, problem.dtype);
  }
  require_workspace(args.workspace, args.workspace_bytes, workspace_needed);
  const Named outputs[] = {rows_of("y", args.y, problem.y_row_stride, problem), workspace_of(args, workspace_needed)};
  const Named inputs[] = {rows_of("x", args.x, problem.x_row_stride, problem), weight_of(problem, args),
                          bias_of(problem, args), offsets_of(problem, args)};
  require_apart(outputs, inputs);
}

void validate_backward_args(const Problem& problem, const BackwardArgs& args, std::size_t workspace_needed) {
  require_documents(problem, args.cu_seqlens, args.cu_seqlens_host);
  require_pointer("weight", args.weight, problem.weight_dtype);
  require_bias("bias", args.bias, problem.bias_dtype, problem.bias_dtype);
  require_pointer("dweight", args.dweight, problem.weight_grad_dtype);
  require_bias("dbias", args.dbias, problem.bias_grad_dtype, problem.bias_dtype);
  if (problem.tokens > 0) {
    require_pointer("x", args.x, problem.dtype);
    require_pointer("dy", args.dy, problem.dtype);
    require_pointer("dx", args.dx, problem.dtype);
  }
  require_workspace(args.workspace, args.workspace_bytes, workspace_needed);
  const Named outputs[] = {rows_of("dx", args.dx, problem.dx_row_stride, problem),
                           array_of("dweight", args.dweight, 4 * problem.channels, problem.weight_grad_dtype),
                           array_of("dbias", args.dbias, problem.channels, problem.bias_grad_dtype),
                           workspace_of(args, workspace_needed)};
  const Named inputs[] = {rows_of("x", args.x, problem.x_row_stride, problem),
                          rows_of("dy", args.dy, problem.dy_row_stride, problem), weight_of(problem, args),
                          bias_of(problem, args), offsets_of(problem, args)};
  require_apart(outputs, inputs);
}

void validate_cu_seqlens(const Problem& problem, const void* cu_seqlens) {
  if (problem.cu_seqlens_dtype == CAKE_DTYPE_INT64) {
    check_offsets(problem, static_cast<const std::int64_t*>(cu_seqlens));
  } else {
    check_offsets(problem, static_cast<const std::int32_t*>(cu_seqlens));
  }
}

}  // namespace cakejit::runtime
