#include "runtime/context.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <bit>
#include <vector>

#include "cakejit/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/host_route.hpp"

namespace cakejit::runtime {
namespace {

int available_cpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

jit::ToolchainSearch toolchain_search(const Config& config) {
  jit::ToolchainSearch search;
  if (config.toolkit_path) search.explicit_path = *config.toolkit_path;
  search.hints = config.toolkit_hints;
  return search;
}

}  // namespace

Effects Effects::real() {
  return {.open_driver = driver::open_driver,
          .open_toolchain = [](const Config& config) { return jit::open_toolchain(toolchain_search(config)); },
          .open_linker = [](const Config& config) { return jit::open_linker(toolchain_search(config)); },
          .build = runtime::build_entry,
          .finalize = runtime::finalize_entry};
}

Context::Context(Config config, Effects effects)
    : config_(std::move(config)),
      effects_(std::move(effects)),
      log_(make_logger(config_.log_level)),
      layers_(config_.aot_path, config_.cache_dir, log_, cache::real_file_system(),
              {.bytes = config_.cache_max_bytes, .entries = config_.cache_max_entries}),
      driver_(effects_.open_driver),
      toolchain_([this] { return effects_.open_toolchain(config_); }),
      linker_([this] { return effects_.open_linker(config_); }),
      plans_(static_cast<std::size_t>(config_.host_cache_entries)),
      host_threads_(config_.host_threads > 0 ? config_.host_threads : available_cpus()) {}

void Context::forward(const Problem& problem, const ForwardArgs& args, driver::StreamHandle stream) {
  validate_problem(problem, CAKE_PASS_FORWARD);
  validate_forward_args(problem, args, forward_workspace_bytes(problem));
  if (problem.device == CAKE_DEVICE_HOST) return host::forward(problem, args, host_threads_);
  // Without rows there is nothing to write. (A backward writes its zeros by the reduction kernel.)
  const auto plan =
      problem.tokens == 0 ? nullptr : obtain_plan(Pass::kForward, problem, row_alignment(problem, args), stream);
  if (config_.check_cu_seqlens) check_device_cu_seqlens(problem, args.cu_seqlens, stream);
  if (plan == nullptr) return;
  launch_forward(driver_.get(), *plan, problem, args, stream);
}

void Context::backward(const Problem& problem, const BackwardArgs& args, driver::StreamHandle stream) {
  validate_problem(problem, CAKE_PASS_BACKWARD);
  validate_backward_args(problem, args, backward_workspace_bytes(problem));
  if (problem.device == CAKE_DEVICE_HOST) return host::backward(problem, args, host_threads_);
  const auto plan = obtain_plan(Pass::kBackward, problem, row_alignment(problem, args), stream);
  if (config_.check_cu_seqlens) check_device_cu_seqlens(problem, args.cu_seqlens, stream);
  launch_backward(driver_.get(), *plan, problem, args, stream);
}

void Context::prepare(const Problem& problem, std::uint32_t passes, std::size_t pointer_alignment) {
  validate_problem(problem, passes);
  if (pointer_alignment == 0) pointer_alignment = 16;
  const std::size_t element = dtype_bytes(problem.dtype);
  if (!std::has_single_bit(pointer_alignment) || pointer_alignment < element || pointer_alignment > 16) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT,
                fmt::format("pointer_alignment is {}; it must be 0 (for 16) or a power of two from {} to 16",
                            pointer_alignment, element));
  }
  if (problem.device == CAKE_DEVICE_HOST) return;
  const auto obtain = [&](Pass pass) {
    (void)obtain_plan(pass, problem, row_alignment(problem, pass, pointer_alignment), nullptr);
  };
  if ((passes & CAKE_PASS_FORWARD) != 0 && problem.tokens > 0) obtain(Pass::kForward);
  if ((passes & CAKE_PASS_BACKWARD) != 0) obtain(Pass::kBackward);
}

Statistics Context::statistics() const {
  return {.plan_hits = plan_hits_,
          .plan_misses = plan_misses_,
          .plan_entries = plans_.size(),
          .libraries_loaded = libraries_loaded_,
          .disk_hits = disk_hits_,
          .libraries_built = libraries_built_};
}

std::uint64_t Context::current_cuda_context() {
  const driver::DriverApi& driver = driver_.get();
  driver::ContextHandle current = nullptr;
  driver.check(driver.CtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current == nullptr) {
    throw Error(CAKE_STATUS_DRIVER_MISSING,
                "the calling thread has no current CUDA context; call cudaSetDevice or cuCtxSetCurrent first");
  }
  unsigned long long id = 0;
  driver.check(driver.CtxGetId(current, &id), "cuCtxGetId");
  return id;
}

std::shared_ptr<const LaunchPlan> Context::obtain_plan(Pass pass, const Problem& problem, std::size_t row_alignment,
                                                       driver::StreamHandle stream) {
  const PlanKey key(pass, problem, {.cuda_context_id = current_cuda_context(), .row_alignment = row_alignment});
  if (auto plan = plans_.find(key)) {
    plan_hits_.fetch_add(1, std::memory_order_relaxed);
    return plan;
  }
  // Everything that can fail happens in here, on a local value.
  LaunchPlan plan = build_plan(pass, problem, row_alignment, stream);
  plan_misses_.fetch_add(1, std::memory_order_relaxed);
  return plans_.commit(key, std::move(plan));
}

LaunchPlan Context::build_plan(Pass pass, const Problem& problem, std::size_t row_alignment,
                               driver::StreamHandle stream) {
  const driver::DriverApi& driver = driver_.get();
  driver::Device device = 0;
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  driver.check(driver.CtxGetDevice(&device), "cuCtxGetDevice");
  driver.check(driver.DeviceGetAttribute(&major, driver::kAttributeComputeMajor, device), "cuDeviceGetAttribute");
  driver.check(driver.DeviceGetAttribute(&minor, driver::kAttributeComputeMinor, device), "cuDeviceGetAttribute");
  driver.check(driver.DeviceGetAttribute(&multiprocessors, driver::kAttributeMultiprocessorCount, device),
               "cuDeviceGetAttribute");
  const auto target = jit::target_for_device(major, minor);
  if (!target) {
    throw Error(CAKE_STATUS_UNSUPPORTED,
                fmt::format("CUDA device {} has compute capability {}.{}; no target of this version serves it", device,
                            major, minor));
  }
  const Specialization specialization = route({.pass = pass,
                                               .channels = problem.channels,
                                               .dtype = problem.dtype,
                                               .has_bias = problem.bias_dtype != CAKE_DTYPE_NONE,
                                               .activation = problem.activation,
                                               .row_alignment = row_alignment},
                                              *target);
  return make_launch_plan(problem, specialization, *target,
                          strip_tokens(specialization, problem.tokens, multiprocessors),
                          load_library(specialization, *target, stream));
}

std::shared_ptr<const driver::LoadedLibrary> Context::load_library(const Specialization& specialization,
                                                                   const jit::Target& target,
                                                                   driver::StreamHandle stream) {
  return libraries_.obtain(specialization, target, [&]() -> LibraryTable::Loaded {
    require_not_capturing(stream);
    const Program program = make_program(specialization, target);
    const cache::Obtained obtained = layers_.obtain(
        cache_request(program), [&] { return make_entry(program); },
        [this](const cache::Manifest& manifest) { return acceptable(manifest); });
    try {
      auto library = std::make_shared<const driver::LoadedLibrary>(driver_.share(), obtained.entry.code,
                                                                   kernel_symbols(program, obtained.entry.manifest));
      if (obtained.origin != cache::Origin::kBuilt) ++disk_hits_;
      ++libraries_loaded_;
      return library;
    } catch (const Error& error) {
      throw error.with_context(
          fmt::format("loading {} ({}, {})", program.name, program.target.name, obtained.entry.manifest.compiler));
    }
  });
}

cache::Entry Context::make_entry(const Program& program) {
  if (config_.jit == JitMode::kOff) {
    const auto& d = program.description;
    throw Error(
        CAKE_STATUS_JIT_DISABLED,
        fmt::format("kernel library {} is in no cache layer and CAKEJIT_JIT=off forbids building it. Build it with: "
                    "cake-aot build --out DIR --arch {} --channels {} --dtype {} --bias {} --activation {} --pass {} "
                    "--alignment {}, then put DIR into CAKEJIT_AOT_PATH",
                    program.name, program.target.name, d.at("channels"), d.at("dtype"), d.at("bias"),
                    d.at("activation"), d.at("pass"), d.at("alignment")));
  }
  if (auto entry = finalize_entry(program)) return *std::move(entry);
  return build_entry(program);
}

// From a portable library, if a layer has one: no compiler is needed, and it takes no longer.
std::optional<cache::Entry> Context::finalize_entry(const Program& program) {
  const auto portable = layers_.find(cache_request(portable_program(program)),
                                     [this](const cache::Manifest& manifest) { return acceptable(manifest); });
  if (!portable) return std::nullopt;
  try {
    cache::Entry entry = effects_.finalize(program, portable->entry, *linker_.share());
    log_->info("{} ({}) is linked from the portable {}", program.name, program.target.name,
               portable->entry.manifest.name);
    ++libraries_built_;
    return entry;
  } catch (const Error& error) {
    log_->warn("{} ({}) could not be linked from the portable {} and is compiled instead: {}", program.name,
               program.target.name, portable->entry.manifest.name, error.what());
    return std::nullopt;
  }
}

cache::Entry Context::build_entry(const Program& program) {
  try {
    cache::Entry entry = effects_.build(program, *toolchain_.share());
    ++libraries_built_;
    return entry;
  } catch (const Error& error) {
    throw error.with_context(fmt::format("building {} for {} (channels {}, {}, {})", program.name, program.target.name,
                                         program.description.at("channels"), program.description.at("dtype"),
                                         program.description.at("pass")));
  }
}

bool Context::acceptable(const cache::Manifest& manifest) {
  if (config_.compiler_policy == CompilerPolicy::kAny) return true;
  return manifest.compiler == jit::compiler_label(*toolchain_.share());
}

void Context::require_not_capturing(driver::StreamHandle stream) {
  const driver::DriverApi& driver = driver_.get();
  int status = driver::kCaptureNone;
  driver.check(driver.StreamIsCapturing(stream, &status), "cuStreamIsCapturing");
  if (status != driver::kCaptureNone) {
    throw Error(CAKE_STATUS_CAPTURE,
                "the stream is being captured and this problem's kernels are not loaded yet; call "
                "cake_causal_conv1d_det_train_prepare (or make one plain call) before the capture");
  }
}

void Context::check_device_cu_seqlens(const Problem& problem, const void* cu_seqlens, driver::StreamHandle stream) {
  if (problem.documents == 0) return;
  const driver::DriverApi& driver = driver_.get();
  int status = driver::kCaptureNone;
  driver.check(driver.StreamIsCapturing(stream, &status), "cuStreamIsCapturing");
  if (status != driver::kCaptureNone) {
    throw Error(CAKE_STATUS_CAPTURE,
                "CAKEJIT_CHECK_CU_SEQLENS=on reads cu_seqlens back, which can't be captured; turn it off");
  }
  const std::size_t bytes = static_cast<std::size_t>(problem.documents + 1) * dtype_bytes(problem.cu_seqlens_dtype);
  std::vector<std::int64_t> copy(bytes / sizeof(std::int64_t) + 1);  // aligned for either dtype
  driver.check(driver.MemcpyDtoHAsync(copy.data(), reinterpret_cast<driver::DevicePointer>(cu_seqlens), bytes, stream),
               "cuMemcpyDtoHAsync(cu_seqlens)");
  driver.check(driver.StreamSynchronize(stream), "cuStreamSynchronize");
  validate_cu_seqlens(problem, copy.data());
}

std::size_t forward_workspace_bytes(const Problem& /*problem: the forward needs none*/) {
  return 0;
}

std::size_t backward_workspace_bytes(const Problem& problem) {
  return problem.device == CAKE_DEVICE_HOST ? host::backward_workspace_bytes(problem)
                                            : device_backward_workspace_bytes(problem);
}

}  // namespace cakejit::runtime
