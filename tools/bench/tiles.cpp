#include "tools/bench/tiles.hpp"

namespace cakejit::bench {

std::vector<Tile> tiles(runtime::Pass pass, const TileGrid& grid) {
  std::vector<Tile> all;
  for (const int vector : grid.vectors) {
    for (const int strip : grid.strips) {
      for (const int threads : grid.threads) {
        for (const int ring : grid.rings) {
          Tile tile;
          tile.strip_tokens = strip;
          tile.specialization.pass = pass;
          tile.specialization.vector_channels = vector;
          tile.specialization.block_threads = threads;
          tile.specialization.ring_groups = ring;
          all.push_back(tile);
        }
      }
    }
  }
  return all;
}

}  // namespace cakejit::bench
