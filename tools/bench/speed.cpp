#include "tools/bench/speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace cakejit::bench {
namespace {

using runtime::Pass;

const char* pass_name(Pass pass) {
  return pass == Pass::kForward ? "forward" : "backward";
}

std::string tile_name(const Tile& tile) {
  const runtime::Specialization& s = tile.specialization;
  return fmt::format("vector {} strip {} threads {} ring {}x{}", s.vector_channels, tile.strip_tokens, s.block_threads,
                     s.ring_groups, s.group_rows);
}

// A tuner's tile, compiled and loaded for one channel count.
struct LoadedTile {
  Tile tile;
  jit::Target target;
  std::shared_ptr<const driver::LoadedLibrary> library;
};

std::vector<LoadedTile> load_tiles(const device::Device& device, const jit::Toolchain& toolchain,
                                   const SpeedRequest& request, Pass pass, std::int64_t channels) {
  std::vector<LoadedTile> loaded;
  const auto target = jit::target_for_device(device.facts().compute_major, device.facts().compute_minor);
  std::map<runtime::Specialization, std::shared_ptr<const driver::LoadedLibrary>> libraries;
  for (Tile tile : request.tiles) {
    runtime::Specialization& s = tile.specialization;
    if (s.pass != pass || channels % s.vector_channels != 0) continue;
    s.channels = channels;
    s.dtype = request.options.dtype;
    s.has_bias = request.options.bias;
    s.activation = request.options.activation;
    auto& library = libraries[s];
    if (!library) {
      const runtime::Program program = runtime::make_program(s, *target);
      const cache::Entry entry = runtime::build_entry(program, toolchain);
      library = std::make_shared<const driver::LoadedLibrary>(driver::open_driver(), entry.code, program.entry_symbols);
    }
    loaded.push_back({tile, *target, library});
  }
  return loaded;
}

Candidate route_candidate(runtime::Context& context, Pass pass, const Arena::Tensors& t) {
  return {"route", [&context, pass, t](const device::Stream& stream) {
            if (pass == Pass::kForward) return context.forward(t.problem, t.forward, stream.handle());
            context.backward(t.problem, t.backward, stream.handle());
          }};
}

Candidate tile_candidate(const device::Device& device, const LoadedTile& tile, const Arena::Tensors& t) {
  const auto plan =
      runtime::make_launch_plan(t.problem, tile.tile.specialization, tile.target, tile.tile.strip_tokens, tile.library);
  return {tile_name(tile.tile), [&device, plan, t](const device::Stream& stream) {
            if (plan.specialization.pass == Pass::kForward) {
              return runtime::launch_forward(device.driver(), plan, t.problem, t.forward, stream.handle());
            }
            runtime::launch_backward(device.driver(), plan, t.problem, t.backward, stream.handle());
          }};
}

// One placement's times of every candidate that is no limit, over the fastest limit.
std::vector<SpeedRow> measure_placement(const device::Device& device, const Arena& arena, const Limits& limits,
                                        runtime::Context& context, const SpeedRequest& request, Pass pass,
                                        const Shape& shape, const Arena::Tensors& tensors,
                                        const std::vector<LoadedTile>& tiles) {
  std::vector<Candidate> candidates = pass == Pass::kForward ? limits.copies(tensors) : limits.adds(tensors);
  const std::size_t limit_count = candidates.size();
  candidates.push_back(route_candidate(context, pass, tensors));
  for (const LoadedTile& tile : tiles) candidates.push_back(tile_candidate(device, tile, tensors));

  const std::vector<Timing> timings = measure(device, arena, candidates, request.repeats);
  const Timing& limit = fastest(std::span(timings).first(limit_count));
  const double streams = pass == Pass::kForward ? 2 : 3;
  std::vector<SpeedRow> rows;
  for (const Timing& timing : std::span(timings).subspan(limit_count)) {
    rows.push_back({.shape = shape,
                    .pass = pass_name(pass),
                    .variant = timing.name,
                    .limit = limit.name,
                    .limit_ms = limit.median_ms,
                    .measured_ms = timing.median_ms,
                    .ratio = timing.median_ms / limit.median_ms,
                    .terabytes_per_s = streams * static_cast<double>(tensors.tensor_bytes) / timing.median_ms * 1e-9});
  }
  return rows;
}

// The placement with the middle ratio stands for all; low and high are over all.
SpeedRow middle(std::vector<SpeedRow> placements) {
  std::sort(placements.begin(), placements.end(),
            [](const SpeedRow& a, const SpeedRow& b) { return a.ratio < b.ratio; });
  SpeedRow row = placements[placements.size() / 2];
  row.ratio_low = placements.front().ratio;
  row.ratio_high = placements.back().ratio;
  return row;
}

}  // namespace

std::vector<SpeedRow> measure_speed(const device::Device& device, const jit::Toolchain& toolchain,
                                    runtime::Context& context, const SpeedRequest& request) {
  const Limits limits(device, toolchain);
  Arena arena(device, request.shapes, request.options);
  std::map<std::pair<Pass, std::int64_t>, std::vector<LoadedTile>> tiles;
  std::vector<SpeedRow> rows;
  for (const Shape& shape : request.shapes) {
    for (const Pass pass : request.passes) {
      auto& loaded = tiles[{pass, shape.channels}];
      if (loaded.empty()) loaded = load_tiles(device, toolchain, request, pass, shape.channels);
      std::vector<std::vector<SpeedRow>> by_variant;
      for (int placement = 0; placement < Arena::kPlacements; ++placement) {
        const auto measured = measure_placement(device, arena, limits, context, request, pass, shape,
                                                arena.cut(shape, placement), loaded);
        by_variant.resize(measured.size());
        for (std::size_t i = 0; i < measured.size(); ++i) by_variant[i].push_back(measured[i]);
      }
      for (auto& placements : by_variant) rows.push_back(middle(std::move(placements)));
    }
  }
  return rows;
}

std::optional<double> geometric_mean(const std::vector<SpeedRow>& rows, const std::string& pass) {
  double sum = 0;
  int count = 0;
  for (const SpeedRow& row : rows) {
    if (row.pass != pass || row.variant != "route") continue;
    sum += std::log(row.ratio);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return std::exp(sum / count);
}

std::string speed_table(const std::vector<SpeedRow>& rows) {
  std::string text = fmt::format("{:>8} {:>6} {:<8} {:>9} {:>9} {:>7} {:>13} {:>6}  {:<12} {}\n", "S", "C", "pass",
                                 "limit ms", "ms", "ratio", "low-high", "TB/s", "limit", "variant");
  for (const SpeedRow& row : rows) {
    text += fmt::format("{:>8} {:>6} {:<8} {:>9.4f} {:>9.4f} {:>7.3f} {:>6.3f}-{:<6.3f} {:>6.3f}  {:<12} {}\n",
                        row.shape.tokens, row.shape.channels, row.pass, row.limit_ms, row.measured_ms, row.ratio,
                        row.ratio_low, row.ratio_high, row.terabytes_per_s, row.limit, row.variant);
  }
  for (const char* pass : {"forward", "backward"}) {
    if (const auto mean = geometric_mean(rows, pass)) {
      text += fmt::format("geometric mean, {}: {:.3f} x limit\n", pass, *mean);
    }
  }
  return text;
}

std::string speed_json(const device::Device& device, const SpeedRequest& request, const std::vector<SpeedRow>& rows) {
  nlohmann::ordered_json json;
  json["schema"] = "cake-bench-speed-1";
  json["version"] = CAKEJIT_VERSION_STRING;
  json["gpu"] = device.facts().name;
  json["driver_cuda"] = device.facts().driver_version;
  json["repeats"] = request.repeats;
  json["placements"] = Arena::kPlacements;
  json["bias"] = request.options.bias;
  for (const char* pass : {"forward", "backward"}) {
    if (const auto mean = geometric_mean(rows, pass)) json["geometric_mean"][pass] = *mean;
  }
  json["rows"] = nlohmann::ordered_json::array();
  for (const SpeedRow& row : rows) {
    json["rows"].push_back({{"tokens", row.shape.tokens},
                            {"channels", row.shape.channels},
                            {"pass", row.pass},
                            {"variant", row.variant},
                            {"limit", row.limit},
                            {"limit_ms", row.limit_ms},
                            {"ms", row.measured_ms},
                            {"ratio", row.ratio},
                            {"ratio_low", row.ratio_low},
                            {"ratio_high", row.ratio_high},
                            {"terabytes_per_s", row.terabytes_per_s}});
  }
  return json.dump(2) + "\n";
}

}  // namespace cakejit::bench
