#include "tools/bench/tiles.hpp"

namespace cakejit::bench {

std::vector<runtime::Specialization> tiles(runtime::Pass pass, const TileGrid& grid) {
  std::vector<runtime::Specialization> all;
  for (const int vector : grid.vectors) {
    for (const int strip : grid.strips) {
      for (const int threads : grid.threads) {
        for (const int ring : grid.rings) {
          runtime::Specialization tile;
          tile.pass = pass;
          tile.vector_channels = vector;
          tile.strip_tokens = strip;
          tile.block_threads = threads;
          tile.ring_groups = ring;
          all.push_back(tile);
        }
      }
    }
  }
  return all;
}

}  // namespace cakejit::bench
