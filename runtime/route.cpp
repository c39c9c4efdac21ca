#include "runtime/route.hpp"

#include <fmt/format.h>

#include "cakejit/error.hpp"

namespace cakejit::runtime {
namespace {

// One row of the table: the tile for a pass and a packet of this many bytes per thread and access.
struct Tile {
  Pass pass;
  int packet_bytes;
  int strip_tokens;
  int block_threads;
  int ring_groups;
};

// Widest packets first. Measured on an H200 (docs/performance.md): 8-byte packets keep the registers of one thread low
// enough for the bytes in flight that the memory needs; the narrow ones serve rows whose alignment allows no more.
constexpr Tile kTiles[] = {
    {Pass::kForward, 8, 128, 128, 4},
    {Pass::kForward, 4, 128, 128, 4},
    {Pass::kForward, 2, 128, 128, 4},
    {Pass::kBackward, 8, kBackwardStripTokens, 128, 4},
    {Pass::kBackward, 4, kBackwardStripTokens, 128, 4},
    {Pass::kBackward, 2, kBackwardStripTokens, 128, 4},
};

int element_bytes(cake_dtype dtype) {
  return dtype == CAKE_DTYPE_FP32 ? 4 : 2;
}

}  // namespace

Specialization route(const RouteQuery& query, const jit::Target& /*target: one table serves all families so far*/) {
  const int bytes = element_bytes(query.dtype);
  for (const Tile& tile : kTiles) {
    const int vector = tile.packet_bytes / bytes;
    if (tile.pass != query.pass || vector < 1 || query.channels % vector != 0 ||
        query.row_alignment < static_cast<std::size_t>(tile.packet_bytes)) {
      continue;
    }
    return {.pass = query.pass,
            .channels = query.channels,
            .dtype = query.dtype,
            .has_bias = query.has_bias,
            .activation = query.activation,
            .vector_channels = vector,
            .strip_tokens = tile.strip_tokens,
            .block_threads = tile.block_threads,
            .group_rows = 4,
            .ring_groups = tile.ring_groups};
  }
  throw Error(CAKE_STATUS_INTERNAL, fmt::format("no route for {} channels, rows aligned to {} bytes, {}-byte elements",
                                                query.channels, query.row_alignment, bytes));
}

}  // namespace cakejit::runtime
