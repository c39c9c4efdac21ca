// One user-visible context: its configuration, its cache layers, its loaded libraries and launch plans.
// The way of a call: validate -> host cache -> (miss: route -> library -> plan -> commit) -> launch.
#pragma once

#include <spdlog/logger.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "cache/layers.hpp"
#include "jit/toolchain.hpp"
#include "runtime/base/config.hpp"
#include "runtime/driver/driver_api.hpp"
#include "runtime/host_cache.hpp"
#include "runtime/lazy.hpp"
#include "runtime/library_table.hpp"
#include "runtime/route.hpp"
#include "runtime/validate.hpp"

namespace cakejit::runtime {

// The world outside, as the context sees it. Tests put failing parts in.
struct Effects {
  std::function<std::shared_ptr<const driver::DriverApi>()> open_driver;
  std::function<std::shared_ptr<const jit::Toolchain>(const Config&)> open_toolchain;
  std::function<std::shared_ptr<const jit::Linker>(const Config&)> open_linker;
  std::function<cache::Entry(const Program&, const jit::Toolchain&)> build;
  std::function<cache::Entry(const Program&, const cache::Entry& portable, const jit::Linker&)> finalize;

  static Effects real();
};

struct Statistics {
  std::uint64_t plan_hits = 0;
  std::uint64_t plan_misses = 0;
  std::uint64_t plan_entries = 0;
  std::uint64_t libraries_loaded = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t libraries_built = 0;
};

class Context {
 public:
  explicit Context(Config config, Effects effects = Effects::real());

  // See include/cakejit/cake_causal_conv1d_det_train.h. `stream` is ignored for host problems.
  void forward(const Problem& problem, const ForwardArgs& args, driver::StreamHandle stream);
  void backward(const Problem& problem, const BackwardArgs& args, driver::StreamHandle stream);
  void prepare(const Problem& problem, std::uint32_t passes, std::size_t pointer_alignment);

  [[nodiscard]] Statistics statistics() const;

 private:
  // Where the calling thread's work goes: the id of its current CUDA context.
  std::uint64_t current_cuda_context();
  std::shared_ptr<const LaunchPlan> obtain_plan(Pass pass, const Problem& problem, std::size_t row_alignment,
                                                driver::StreamHandle stream);
  LaunchPlan build_plan(Pass pass, const Problem& problem, std::size_t row_alignment, driver::StreamHandle stream);
  std::shared_ptr<const driver::LoadedLibrary> load_library(const Specialization& specialization,
                                                            const jit::Target& target, driver::StreamHandle stream);
  cache::Entry make_entry(const Program& program);
  cache::Entry build_entry(const Program& program);
  std::optional<cache::Entry> finalize_entry(const Program& program);
  [[nodiscard]] bool acceptable(const cache::Manifest& manifest);
  void require_not_capturing(driver::StreamHandle stream);
  void check_device_cu_seqlens(const Problem& problem, const void* cu_seqlens, driver::StreamHandle stream);

  const Config config_;
  const Effects effects_;
  std::shared_ptr<spdlog::logger> log_;
  cache::Layers layers_;
  Lazy<driver::DriverApi> driver_;
  Lazy<jit::Toolchain> toolchain_;
  Lazy<jit::Linker> linker_;
  LibraryTable libraries_;
  HostCache plans_;
  const int host_threads_;
  std::atomic<std::uint64_t> plan_hits_{0};
  std::atomic<std::uint64_t> plan_misses_{0};
  std::atomic<std::uint64_t> libraries_loaded_{0};
  std::atomic<std::uint64_t> disk_hits_{0};
  std::atomic<std::uint64_t> libraries_built_{0};
};

// Bytes of workspace, for the problem's device. The problem must have been validated for the pass.
std::size_t forward_workspace_bytes(const Problem& problem);
std::size_t backward_workspace_bytes(const Problem& problem);

}  // namespace cakejit::runtime
