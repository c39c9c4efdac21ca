// cake-aot: fills a cache directory with kernel libraries ahead of time.
#include <algorithm>

#include "cakejit/error.hpp"
#include "jit/toolchain.hpp"
#include "runtime/base/config.hpp"
#include "runtime/base/log.hpp"
#include "tools/aot/builder.hpp"
#include "tools/aot/interrupt.hpp"
#include "tools/aot/jobs.hpp"
#include "tools/aot/options.hpp"
#include "tools/aot/plan.hpp"
#include "tools/aot/report.hpp"
#include "tools/cli/run.hpp"

namespace {

using namespace cakejit;
using namespace cakejit::tools::aot;

int run_plan(const Options& options, const std::shared_ptr<spdlog::logger>& log) {
  const auto plan = make_plan(options);
  if (options.out.empty()) {
    print_plan(plan, nullptr, options.json);
    return 0;
  }
  const auto outcomes = find_present(plan, cache::Store(options.out, cache::Access::kReadOnly, log));
  print_plan(plan, &outcomes, options.json);
  return 0;
}

std::shared_ptr<const jit::Toolchain> find_toolchain(const Options& options, const Config& config) {
  const auto& toolkit = options.toolkit.empty() ? config.toolkit_path.value_or("") : options.toolkit;
  return jit::open_toolchain({.explicit_path = toolkit, .hints = config.toolkit_hints});
}

void build(const std::vector<PlanItem>& plan, std::vector<Outcome>& outcomes, const Options& options,
           const cache::Store& store, const Config& config, const std::shared_ptr<spdlog::logger>& log) {
  const auto missing = static_cast<std::size_t>(std::ranges::count(outcomes, State::kMissing, &Outcome::state));
  if (missing == 0) return;
  // Before the toolchain is looked for: a job that lacks nothing needs none.
  const auto toolchain = find_toolchain(options, config);
  catch_interrupts();
  const ProgressBar bar(missing);
  build_missing(plan, outcomes, store, *toolchain, log,
                {.jobs = options.jobs > 0 ? options.jobs : default_jobs(),
                 .stop = [] { return interrupted() != 0; },
                 .progress = [&bar](std::size_t done, std::size_t failed) { bar.show(done, failed); }});
}

int run_build(const Options& options, const Config& config, const std::shared_ptr<spdlog::logger>& log) {
  const auto plan = make_plan(options);
  const auto access = options.check ? cache::Access::kReadOnly : cache::Access::kReadWrite;
  const cache::Store store(options.out, access, log);
  auto outcomes = find_present(plan, store);
  if (!options.check) build(plan, outcomes, options, store, config, log);
  print_build(plan, outcomes, options, interrupted() != 0);
  return interrupted() != 0 ? 128 + interrupted() : exit_status(outcomes, options.check);
}

int run(const Options& options) {
  const Config config = Config::from_environment();
  const auto log = make_logger(config.log_level);
  return options.command == Command::kPlan ? run_plan(options, log) : run_build(options, config, log);
}

int body(int argc, char** argv) {
  try {
    return run(parse_options(argc, argv));
  } catch (const Error& error) {
    // What the user asked for is wrong, be it on the command line or in a file that it names.
    if (error.status() == CAKE_STATUS_INVALID_ARGUMENT) throw CLI::ValidationError(error.what());
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return cakejit::cli::run("cake-aot", argc, argv, body);
}
