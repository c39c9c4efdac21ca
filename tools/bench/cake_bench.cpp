// cake-bench: what the kernels, the cache and a hot call cost on this machine, and one checked training step.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <string>

#include "cakejit/error.hpp"
#include "tools/bench/latency.hpp"
#include "tools/bench/speed.hpp"
#include "tools/bench/step.hpp"
#include "tools/bench/tiles.hpp"
#include "tools/cli/run.hpp"

namespace {

using namespace cakejit;

struct Arguments {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> channels;
  std::string sweep;
  std::string dtype = "bf16";
  std::string documents = "random40";
  std::string pass = "both";
  std::string json_file;
  std::string toolkit;
  bool fp32_parameters = false;
  bool bias = false;
  bool identity = false;
  int repeats = 20;
  bench::TileGrid grid;
  std::string device = "auto";
};

cake_dtype parse_dtype(const std::string& name) {
  if (name == "bf16") return CAKE_DTYPE_BF16;
  if (name == "fp16") return CAKE_DTYPE_FP16;
  return CAKE_DTYPE_FP32;
}

bench::SpeedRequest speed_request(const Arguments& arguments) {
  bench::SpeedRequest request;
  request.options.dtype = parse_dtype(arguments.dtype);
  request.options.parameter_dtype = arguments.fp32_parameters ? CAKE_DTYPE_FP32 : request.options.dtype;
  request.options.bias = arguments.bias;
  if (arguments.identity) request.options.activation = CAKE_ACTIVATION_IDENTITY;
  request.options.documents = bench::parse_document_mix(arguments.documents);
  request.repeats = arguments.repeats;
  if (arguments.pass != "backward") request.passes.push_back(runtime::Pass::kForward);
  if (arguments.pass != "forward") request.passes.push_back(runtime::Pass::kBackward);
  if (arguments.sweep == "seed") {
    request.shapes.assign(bench::seed_sweep().begin(), bench::seed_sweep().end());
  }
  for (const std::int64_t tokens : arguments.tokens) {
    for (const std::int64_t channels : arguments.channels) request.shapes.push_back({tokens, channels});
  }
  if (request.shapes.empty()) request.shapes.push_back({250340, 4096});
  return request;
}

std::unique_ptr<device::Device> require_device() {
  std::string why;
  auto device = device::Device::open(0, &why);
  if (!device) throw Error(CAKE_STATUS_DRIVER_MISSING, fmt::format("this needs a GPU: {}", why));
  return device;
}

Config config_of(const Arguments& arguments) {
  Config config = Config::from_environment();
  if (!arguments.toolkit.empty()) config.toolkit_path = arguments.toolkit;
  return config;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error(CAKE_STATUS_INTERNAL, fmt::format("could not write {}", path));
}

int run_speed(const Arguments& arguments, bool tune) {
  const auto device = require_device();
  const Config config = config_of(arguments);
  runtime::Context context(config);
  const auto toolchain = runtime::Effects::real().open_toolchain(config);
  bench::SpeedRequest request = speed_request(arguments);
  if (tune) {
    for (const runtime::Pass pass : request.passes) {
      const auto tiles = bench::tiles(pass, arguments.grid);
      request.tiles.insert(request.tiles.end(), tiles.begin(), tiles.end());
    }
  }
  const auto rows = bench::measure_speed(*device, *toolchain, context, request);
  fmt::print("{}, driver for CUDA {}\n{}", device->facts().name, device->facts().driver_version,
             bench::speed_table(rows));
  if (!arguments.json_file.empty()) write_file(arguments.json_file, bench::speed_json(*device, request, rows));
  return 0;
}

void add_speed_options(CLI::App& command, Arguments& a) {
  command.add_option("--tokens", a.tokens, "S, one or more")->delimiter(',')->check(CLI::PositiveNumber);
  command.add_option("--channels", a.channels, "C, one or more")->delimiter(',')->check(CLI::PositiveNumber);
  command.add_option("--sweep", a.sweep, "A named list of shapes")->check(CLI::IsMember({"seed"}));
  command.add_option("--dtype", a.dtype, "Dtype of x, y, dy, dx")->check(CLI::IsMember({"bf16", "fp16", "fp32"}));
  command.add_flag("--fp32-parameters", a.fp32_parameters, "Weights, bias and their gradients in fp32");
  command.add_flag("--identity", a.identity, "Without the activation");
  command.add_flag("--bias", a.bias, "With a bias");
  command.add_option("--docs", a.documents, "Document lengths: one, random40, short4000, three");
  command.add_option("--pass", a.pass, "Which pass")->check(CLI::IsMember({"forward", "backward", "both"}));
  command.add_option("--repeats", a.repeats, "Timed runs per candidate and placement")->check(CLI::Range(3, 1000));
  command.add_option("--json", a.json_file, "Write the results to this file too");
  command.add_option("--toolkit", a.toolkit,
                     "Folder of NVRTC and nvJitLink (default: CAKEJIT_TOOLKIT_PATH, then a search)");
}

int body(int argc, char** argv) {
  CLI::App app{"Measures cakejit on this machine. Speeds are ratios to the device's own limit in the same run."};
  app.set_version_flag("--version", "cake-bench " CAKEJIT_VERSION_STRING);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  cake-bench step                                   one packed training step, checked against float64\n"
      "  cake-bench speed --sweep seed --json speed.json   every shape of the goals against copy and 2-read-1-write\n"
      "  cake-bench tune --tokens 250340 --channels 4096   times a grid of tiles beside the route's\n"
      "  cake-bench latency                                host time of a hot call, first-call times by stage\n"
      "Exit status: 0 done, 1 the work failed, 2 wrong usage.");

  Arguments arguments;
  CLI::App* step =
      app.add_subcommand("step", "One packed training step (forward and backward), checked against float64");
  step->add_option("--device", arguments.device, "Where to run")->check(CLI::IsMember({"auto", "cuda", "host"}));
  CLI::App* speed = app.add_subcommand("speed", "Times the routes against the device's limits");
  add_speed_options(*speed, arguments);
  CLI::App* tune = app.add_subcommand("tune", "Times a grid of tiles beside the routes' own");
  add_speed_options(*tune, arguments);
  tune->add_option("--vectors", arguments.grid.vectors, "Channels of one thread")->delimiter(',');
  tune->add_option("--strips", arguments.grid.strips, "Tokens of one thread")->delimiter(',');
  tune->add_option("--threads", arguments.grid.threads, "Threads of one block")->delimiter(',');
  tune->add_option("--rings", arguments.grid.rings, "Groups of the ring")->delimiter(',');
  CLI::App* latency = app.add_subcommand("latency", "Host time of a hot call and of first calls, by stage");
  latency->add_option("--json", arguments.json_file, "Write the results to this file too");
  cli::parse(app, argc, argv);

  if (step->parsed()) return bench::run_step(arguments.device, Config::from_environment());
  if (latency->parsed()) {
    const auto device = require_device();
    const auto report = bench::measure_latency(*device, config_of(arguments));
    fmt::print("{}", report.table);
    if (!arguments.json_file.empty()) write_file(arguments.json_file, report.json);
    return 0;
  }
  return run_speed(arguments, tune->parsed());
}

}  // namespace

int main(int argc, char** argv) {
  return cakejit::cli::run("cake-bench", argc, argv, body);
}
