// The tiles that `cake-bench tune` tries.
#pragma once

#include <vector>

#include "runtime/program.hpp"

namespace cakejit::bench {

struct Tile {
  runtime::Specialization specialization;
  int strip_tokens = 0;
};

// Every combination of the given values for one pass; shapes and dtypes are filled in by the measurement.
struct TileGrid {
  std::vector<int> vectors = {4, 8};
  std::vector<int> strips = {32, 64, 128, 256, 512};
  std::vector<int> threads = {64, 128, 256};
  std::vector<int> rings = {3, 4, 6};
};

std::vector<Tile> tiles(runtime::Pass pass, const TileGrid& grid);

}  // namespace cakejit::bench
