// The C++ API: the C ABI's operation with exceptions, ownership and defaults. Everything here is inline over the C
// functions, so a program that links the shared library needs nothing else.
//
//   const auto problem = cakejit::make_problem({.tokens = S, .channels = C, .documents = N});
//   const std::size_t bytes = cakejit::backward_workspace_bytes(problem);   // the caller allocates
//   cakejit::forward(problem, cakejit::ForwardTensors{.x = x, .weight = w, .cu_seqlens = cu, .y = y}, stream);
//   cakejit::backward(problem, cakejit::BackwardTensors{.x = x, .weight = w, .dy = dy, .cu_seqlens = cu, .dx = dx,
//                                                       .dweight = dw, .workspace = ws, .workspace_bytes = bytes},
//                     stream);
//
// Shapes, alignment, ownership and the meaning of each field: cake_causal_conv1d_det_train.h. Threads, contexts,
// streams and struct_size: cakejit.h. Every function here throws cakejit::Error, with the C ABI's status and message,
// where the C function returns anything but CAKE_STATUS_OK; nothing was launched or written then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cakejit/cake_causal_conv1d_det_train.h"
#include "cakejit/cakejit.h"
#include "cakejit/error.hpp"

namespace cakejit {

using Problem = cake_causal_conv1d_det_train_problem;
using ForwardArgs = cake_causal_conv1d_det_train_forward_args;
using BackwardArgs = cake_causal_conv1d_det_train_backward_args;
using Statistics = cake_context_statistics;

constexpr std::uint32_t kBothPasses = CAKE_PASS_FORWARD | CAKE_PASS_BACKWARD;

// The library's version, which may be newer than the headers' CAKEJIT_VERSION_STRING.
inline std::string version() {
  return cake_version();
}

// Throws what the calling thread's last C call left, unless `status` is OK.
inline void check(cake_status status) {
  if (status != CAKE_STATUS_OK) throw Error(status, cake_last_error());
}

// What make_problem takes. Names and units are those of Problem; an absent value means what its comment says. A row
// stride that is given is passed on as it is, 0 too: then the problem is refused, not guessed at.
struct ProblemSpec {
  cake_device device = CAKE_DEVICE_CUDA;
  std::int64_t tokens = 0;
  std::int64_t channels = 0;
  std::int64_t documents = 0;
  cake_dtype dtype = CAKE_DTYPE_BF16;
  std::optional<cake_dtype> weight_dtype = {};  // dtype
  bool bias = false;
  std::optional<cake_dtype> bias_dtype = {};  // weight_dtype; only with bias
  cake_dtype weight_grad_dtype = CAKE_DTYPE_FP32;
  std::optional<cake_dtype> bias_grad_dtype = {};  // FP32; only with bias
  cake_dtype cu_seqlens_dtype = CAKE_DTYPE_INT32;
  cake_activation activation = CAKE_ACTIVATION_SILU;
  std::optional<std::int64_t> x_row_stride = {};   // channels
  std::optional<std::int64_t> y_row_stride = {};   // channels
  std::optional<std::int64_t> dy_row_stride = {};  // channels
  std::optional<std::int64_t> dx_row_stride = {};  // channels
};

// Fills a problem, for both passes; checks nothing: is_supported and every call do. The dtypes of an absent bias are
// NONE, unless they were given.
inline Problem make_problem(const ProblemSpec& spec) {
  const cake_dtype weight_dtype = spec.weight_dtype.value_or(spec.dtype);
  Problem problem{};
  problem.struct_size = sizeof problem;
  problem.device = spec.device;
  problem.tokens = spec.tokens;
  problem.channels = spec.channels;
  problem.documents = spec.documents;
  problem.dtype = spec.dtype;
  problem.weight_dtype = weight_dtype;
  problem.bias_dtype = spec.bias_dtype.value_or(spec.bias ? weight_dtype : CAKE_DTYPE_NONE);
  problem.weight_grad_dtype = spec.weight_grad_dtype;
  problem.bias_grad_dtype = spec.bias_grad_dtype.value_or(spec.bias ? CAKE_DTYPE_FP32 : CAKE_DTYPE_NONE);
  problem.cu_seqlens_dtype = spec.cu_seqlens_dtype;
  problem.activation = spec.activation;
  problem.x_row_stride = spec.x_row_stride.value_or(spec.channels);
  problem.y_row_stride = spec.y_row_stride.value_or(spec.channels);
  problem.dy_row_stride = spec.dy_row_stride.value_or(spec.channels);
  problem.dx_row_stride = spec.dx_row_stride.value_or(spec.channels);
  return problem;
}

// The pointers of a forward call, to be named where it is called. Converts to ForwardArgs.
struct ForwardTensors {
  const void* x = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;
  const void* cu_seqlens = nullptr;
  const void* cu_seqlens_host = nullptr;
  void* y = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;

  operator ForwardArgs() const {  // NOLINT(google-explicit-constructor): meant to convert
    return {sizeof(ForwardArgs), x, weight, bias, cu_seqlens, cu_seqlens_host, y, workspace, workspace_bytes};
  }
};

// The pointers of a backward call. Converts to BackwardArgs.
struct BackwardTensors {
  const void* x = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;
  const void* dy = nullptr;
  const void* cu_seqlens = nullptr;
  const void* cu_seqlens_host = nullptr;
  void* dx = nullptr;
  void* dweight = nullptr;
  void* dbias = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;

  operator BackwardArgs() const {  // NOLINT(google-explicit-constructor): meant to convert
    return {sizeof(BackwardArgs), x,  weight,  bias,  dy,        cu_seqlens,
            cu_seqlens_host,      dx, dweight, dbias, workspace, workspace_bytes};
  }
};

// What Context takes; an absent value is decided by the environment, then by the default (docs/configuration.md).
struct ContextOptions {
  std::optional<std::string> cache_dir = {};
  std::optional<std::string> aot_path = {};  // ':' between folders
  std::optional<std::string> toolkit_path = {};
  std::optional<std::string> jit = {};              // "on", "off"
  std::optional<std::string> compiler_policy = {};  // "any", "match"
  std::optional<std::string> log_level = {};        // "off", "error", "warn", "info", "debug"
  std::optional<std::int32_t> host_threads = {};
  bool check_cu_seqlens = false;
  std::optional<std::int32_t> host_cache_entries = {};
  std::optional<std::string> cache_max_size = {};  // "2G", "500M", bytes, "0" for any
};

// Owns a context. Movable; a moved-from one is empty and may only be destroyed or assigned to. No call on it may be
// running, none of its launches pending, when it is destroyed.
class Context {
 public:
  // Touches no GPU, no compiler, no file.
  explicit Context(const ContextOptions& options = {}) {
    const auto text = [](const std::optional<std::string>& value) { return value ? value->c_str() : nullptr; };
    cake_context_options native{};
    native.struct_size = sizeof native;
    native.cache_dir = text(options.cache_dir);
    native.aot_path = text(options.aot_path);
    native.toolkit_path = text(options.toolkit_path);
    native.jit = text(options.jit);
    native.compiler_policy = text(options.compiler_policy);
    native.log_level = text(options.log_level);
    native.host_threads = options.host_threads.value_or(0);
    native.check_cu_seqlens = options.check_cu_seqlens ? 1 : 0;
    native.host_cache_entries = options.host_cache_entries.value_or(0);
    native.cache_max_size = text(options.cache_max_size);
    check(cake_context_create(&native, &handle_));
  }
  Context(Context&& other) noexcept : handle_(other.release()) {}
  Context& operator=(Context&& other) noexcept {
    if (this != &other) {
      cake_context* taken = other.release();
      (void)cake_context_destroy(handle_);
      handle_ = taken;
    }
    return *this;
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { (void)cake_context_destroy(handle_); }

  // Takes over a context made by cake_context_create.
  static Context from_native(cake_context* handle) { return Context(handle); }
  [[nodiscard]] cake_context* native() const noexcept { return handle_; }
  // Gives the context up; the caller destroys it.
  [[nodiscard]] cake_context* release() noexcept {
    cake_context* handle = handle_;
    handle_ = nullptr;
    return handle;
  }

 private:
  explicit Context(cake_context* handle) noexcept : handle_(handle) {}

  cake_context* handle_ = nullptr;
};

// Names a context without owning it: the process' default context unless one is given. Cheap to copy.
class ContextRef {
 public:
  ContextRef() noexcept = default;
  // An empty (moved-from) Context would stand for the default context; it is refused.
  ContextRef(const Context& context)  // NOLINT(google-explicit-constructor): stands for the context in a call
      : handle_(context.native()) {
    if (handle_ == nullptr) throw Error(CAKE_STATUS_INVALID_ARGUMENT, "the Context is empty: it was moved from");
  }
  [[nodiscard]] cake_context* native() const noexcept { return handle_; }

 private:
  cake_context* handle_ = nullptr;
};

// Whether the problem can be run for the passes in the mask; *reason, if given, says why not ("" if it can). Needs no
// GPU.
[[nodiscard]] inline bool is_supported(const Problem& problem, std::uint32_t passes = kBothPasses,
                                       std::string* reason = nullptr) {
  const char* why = "";
  const bool supported = is_cake_causal_conv1d_det_train_supported(&problem, passes, &why) != 0;
  if (reason != nullptr) *reason = supported ? "" : why;
  return supported;
}

// Bytes of workspace that a call with this problem needs; pure arithmetic.
[[nodiscard]] inline std::size_t forward_workspace_bytes(const Problem& problem) {
  std::size_t bytes = 0;
  check(cake_causal_conv1d_det_train_forward_workspace_bytes(&problem, &bytes));
  return bytes;
}

[[nodiscard]] inline std::size_t backward_workspace_bytes(const Problem& problem) {
  std::size_t bytes = 0;
  check(cake_causal_conv1d_det_train_backward_workspace_bytes(&problem, &bytes));
  return bytes;
}

// Launches y = forward(x) on `stream`; for a host problem, returns when it is done.
inline void forward(const Problem& problem, const ForwardArgs& args, cake_stream stream = nullptr,
                    ContextRef context = {}) {
  check(cake_causal_conv1d_det_train_forward(context.native(), &problem, &args, stream));
}

// Launches dx, dweight, dbias = backward(x, dy) on `stream`; for a host problem, returns when it is done.
inline void backward(const Problem& problem, const BackwardArgs& args, cake_stream stream = nullptr,
                     ContextRef context = {}) {
  check(cake_causal_conv1d_det_train_backward(context.native(), &problem, &args, stream));
}

// All set-up of later calls with this problem and pointers aligned to `pointer_alignment` bytes (0: 16), and no launch,
// so that those calls can be captured in a CUDA graph.
inline void prepare(const Problem& problem, std::uint32_t passes = kBothPasses, std::size_t pointer_alignment = 0,
                    ContextRef context = {}) {
  check(cake_causal_conv1d_det_train_prepare(context.native(), &problem, passes, pointer_alignment));
}

[[nodiscard]] inline Statistics statistics(ContextRef context = {}) {
  Statistics result{};
  result.struct_size = sizeof result;
  check(cake_context_get_statistics(context.native(), &result));
  return result;
}

}  // namespace cakejit
