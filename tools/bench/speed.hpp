// The speed of the routes as a ratio to the device's limit, shape by shape.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/context.hpp"
#include "tools/bench/limits.hpp"
#include "tools/bench/tiles.hpp"

namespace cakejit::bench {

struct SpeedRow {
  Shape shape;
  std::string pass;     // "forward", "backward"
  std::string variant;  // "route", or a tuner's description of a tile
  std::string limit;    // which limit kernel was fastest
  double limit_ms = 0;  // medians at the placement whose ratio is the middle one
  double measured_ms = 0;
  double ratio = 0;      // measured / limit
  double ratio_low = 0;  // over the placements
  double ratio_high = 0;
  double terabytes_per_s = 0;  // the least bytes the pass must move, over measured_ms
};

struct SpeedRequest {
  std::vector<Shape> shapes;
  Options options;
  std::vector<runtime::Pass> passes;
  int repeats = 20;
  // Tiles to time beside the routes' own; empty: the routes only.
  std::vector<Tile> tiles;
};

std::vector<SpeedRow> measure_speed(const device::Device& device, const jit::Toolchain& toolchain,
                                    runtime::Context& context, const SpeedRequest& request);

// Geometric mean of the ratios of one pass' rows of variant "route"; nullopt when there is none.
std::optional<double> geometric_mean(const std::vector<SpeedRow>& rows, const std::string& pass);

std::string speed_table(const std::vector<SpeedRow>& rows);
std::string speed_json(const device::Device& device, const SpeedRequest& request, const std::vector<SpeedRow>& rows);

}  // namespace cakejit::bench
