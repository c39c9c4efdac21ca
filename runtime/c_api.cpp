// The C boundary: sized structs in, exceptions turned into status codes, once.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "cakejit/cake_causal_conv1d_det_train.h"
#include "cakejit/cakejit.h"
#include "cakejit/error.hpp"
#include "runtime/context.hpp"

struct cake_context {
  cakejit::runtime::Context context;
};

namespace {

using cakejit::Error;
namespace runtime = cakejit::runtime;

thread_local std::string last_error_message;

cake_status fail(cake_status status, const char* message) noexcept {
  try {
    last_error_message = message;
  } catch (...) {
    last_error_message.clear();
  }
  return status;
}

template <class Body>
cake_status guard(Body&& body) noexcept {
  try {
    body();
    return CAKE_STATUS_OK;
  } catch (const Error& error) {
    return fail(error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(CAKE_STATUS_OUT_OF_MEMORY, "host memory ran out");
  } catch (const std::exception& error) {
    return fail(CAKE_STATUS_INTERNAL, error.what());
  } catch (...) {
    return fail(CAKE_STATUS_INTERNAL, "unknown exception");
  }
}

// The caller's struct as this version knows it: what an older caller lacks is zero; what a newer caller adds must be
// zero.
template <class Struct>
Struct sized_copy(const char* name, const Struct* given) {
  if (given == nullptr) throw Error(CAKE_STATUS_INVALID_ARGUMENT, fmt::format("{} is NULL", name));
  const std::size_t size = given->struct_size;
  if (size < sizeof(std::size_t) || size > 4096 || size % alignof(Struct) != 0) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT,
                fmt::format("{}->struct_size is {}; set it to sizeof(the struct), {} in this version", name, size,
                            sizeof(Struct)));
  }
  Struct copy{};
  std::memcpy(&copy, given, std::min(size, sizeof(Struct)));
  const char* tail = reinterpret_cast<const char*>(given) + sizeof(Struct);
  if (size > sizeof(Struct) && std::any_of(tail, tail + (size - sizeof(Struct)), [](char c) { return c != 0; })) {
    throw Error(
        CAKE_STATUS_UNSUPPORTED,
        fmt::format("{} has fields set that this version ({}) does not know; its struct_size is {}, known are {} bytes",
                    name, cake_version(), size, sizeof(Struct)));
  }
  copy.struct_size = sizeof(Struct);
  return copy;
}

// The ranges of the environment's settings (runtime/base/config.cpp); 0 leaves the choice to them.
void require_range(const char* option, std::int32_t value, std::int32_t highest) {
  if (value >= 0 && value <= highest) return;
  throw Error(CAKE_STATUS_INVALID_ARGUMENT, fmt::format("{} is {}; it must be from 0 to {}", option, value, highest));
}

// Options beat the environment, the environment beats the defaults.
cakejit::Config make_config(const cake_context_options* given) {
  cakejit::Config config = cakejit::Config::from_environment();
  if (given == nullptr) return config;
  const cake_context_options options = sized_copy("options", given);
  if (options.cache_dir != nullptr) config.cache_dir = options.cache_dir;
  if (options.aot_path != nullptr) config.aot_path = cakejit::parse_path_list(options.aot_path);
  if (options.toolkit_path != nullptr) config.toolkit_path = options.toolkit_path;
  if (options.jit != nullptr) config.jit = cakejit::parse_jit_mode("options->jit", options.jit);
  if (options.compiler_policy != nullptr) {
    config.compiler_policy = cakejit::parse_compiler_policy("options->compiler_policy", options.compiler_policy);
  }
  if (options.log_level != nullptr)
    config.log_level = cakejit::parse_log_level("options->log_level", options.log_level);
  require_range("options->host_threads", options.host_threads, 4096);
  if (options.cache_max_size != nullptr) {
    config.cache_max_bytes = cakejit::parse_byte_size("options->cache_max_size", options.cache_max_size);
  }
  require_range("options->host_cache_entries", options.host_cache_entries, 1 << 20);
  require_range("options->check_cu_seqlens", options.check_cu_seqlens, 1);
  if (options.host_threads != 0) config.host_threads = options.host_threads;
  if (options.host_cache_entries != 0) config.host_cache_entries = options.host_cache_entries;
  if (options.check_cu_seqlens != 0) config.check_cu_seqlens = true;
  return config;
}

// Made on first use and never destroyed: kernels may be launched until the process ends.
runtime::Context& context_of(cake_context* given) {
  if (given != nullptr) return given->context;
  static cake_context* const kDefault = new cake_context{runtime::Context(cakejit::Config::from_environment())};
  return kDefault->context;
}

runtime::Problem checked_problem(const cake_causal_conv1d_det_train_problem* problem, std::uint32_t passes) {
  const runtime::Problem copy = sized_copy("problem", problem);
  runtime::validate_problem(copy, passes);
  return copy;
}

template <class T>
T& required(const char* name, T* pointer) {
  if (pointer == nullptr) throw Error(CAKE_STATUS_INVALID_ARGUMENT, fmt::format("{} is NULL", name));
  return *pointer;
}

cakejit::driver::StreamHandle stream_of(cake_stream stream) {
  return static_cast<cakejit::driver::StreamHandle>(stream);
}

}  // namespace

extern "C" {

const char* cake_version(void) {
  return CAKEJIT_VERSION_STRING;
}

const char* cake_last_error(void) {
  return last_error_message.c_str();
}

const char* cake_status_name(cake_status status) {
  switch (status) {
    case CAKE_STATUS_OK: return "CAKE_STATUS_OK";
    case CAKE_STATUS_INVALID_ARGUMENT: return "CAKE_STATUS_INVALID_ARGUMENT";
    case CAKE_STATUS_UNSUPPORTED: return "CAKE_STATUS_UNSUPPORTED";
    case CAKE_STATUS_TOOLCHAIN_MISSING: return "CAKE_STATUS_TOOLCHAIN_MISSING";
    case CAKE_STATUS_COMPILE_FAILED: return "CAKE_STATUS_COMPILE_FAILED";
    case CAKE_STATUS_JIT_DISABLED: return "CAKE_STATUS_JIT_DISABLED";
    case CAKE_STATUS_CACHE: return "CAKE_STATUS_CACHE";
    case CAKE_STATUS_DRIVER_MISSING: return "CAKE_STATUS_DRIVER_MISSING";
    case CAKE_STATUS_DRIVER: return "CAKE_STATUS_DRIVER";
    case CAKE_STATUS_CAPTURE: return "CAKE_STATUS_CAPTURE";
    case CAKE_STATUS_OUT_OF_MEMORY: return "CAKE_STATUS_OUT_OF_MEMORY";
    case CAKE_STATUS_INTERNAL: return "CAKE_STATUS_INTERNAL";
  }
  return "unknown";
}

cake_status cake_context_create(const cake_context_options* options, cake_context** context) {
  return guard([&] {
    cake_context*& out = required("context", context);
    out = nullptr;
    out = new cake_context{runtime::Context(make_config(options))};
  });
}

cake_status cake_context_destroy(cake_context* context) {
  return guard([&] { delete context; });
}

cake_status cake_context_get_statistics(cake_context* context, cake_context_statistics* statistics) {
  return guard([&] {
    cake_context_statistics out = sized_copy("statistics", statistics);
    const std::size_t size = statistics->struct_size;
    const runtime::Statistics s = context_of(context).statistics();
    out = {.struct_size = size,
           .plan_hits = s.plan_hits,
           .plan_misses = s.plan_misses,
           .plan_entries = s.plan_entries,
           .libraries_loaded = s.libraries_loaded,
           .disk_hits = s.disk_hits,
           .libraries_built = s.libraries_built};
    std::memcpy(statistics, &out, std::min(size, sizeof out));
  });
}

int is_cake_causal_conv1d_det_train_supported(const cake_causal_conv1d_det_train_problem* problem, uint32_t passes,
                                              const char** reason) {
  const cake_status status = guard([&] { (void)checked_problem(problem, passes); });
  if (reason != nullptr) *reason = status == CAKE_STATUS_OK ? "" : cake_last_error();
  return status == CAKE_STATUS_OK ? 1 : 0;
}

cake_status cake_causal_conv1d_det_train_forward_workspace_bytes(const cake_causal_conv1d_det_train_problem* problem,
                                                                 size_t* bytes) {
  return guard([&] {
    required("bytes", bytes) = runtime::forward_workspace_bytes(checked_problem(problem, CAKE_PASS_FORWARD));
  });
}

cake_status cake_causal_conv1d_det_train_backward_workspace_bytes(const cake_causal_conv1d_det_train_problem* problem,
                                                                  size_t* bytes) {
  return guard([&] {
    required("bytes", bytes) = runtime::backward_workspace_bytes(checked_problem(problem, CAKE_PASS_BACKWARD));
  });
}

cake_status cake_causal_conv1d_det_train_forward(cake_context* context,
                                                 const cake_causal_conv1d_det_train_problem* problem,
                                                 const cake_causal_conv1d_det_train_forward_args* args,
                                                 cake_stream stream) {
  return guard([&] {
    context_of(context).forward(sized_copy("problem", problem), sized_copy("args", args), stream_of(stream));
  });
}

cake_status cake_causal_conv1d_det_train_backward(cake_context* context,
                                                  const cake_causal_conv1d_det_train_problem* problem,
                                                  const cake_causal_conv1d_det_train_backward_args* args,
                                                  cake_stream stream) {
  return guard([&] {
    context_of(context).backward(sized_copy("problem", problem), sized_copy("args", args), stream_of(stream));
  });
}

cake_status cake_causal_conv1d_det_train_prepare(cake_context* context,
                                                 const cake_causal_conv1d_det_train_problem* problem, uint32_t passes,
                                                 size_t pointer_alignment) {
  return guard([&] { context_of(context).prepare(sized_copy("problem", problem), passes, pointer_alignment); });
}

}  // extern "C"
