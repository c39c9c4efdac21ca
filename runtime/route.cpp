#include "runtime/route.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cakejit/error.hpp"

namespace cakejit::runtime {
namespace {

// One row of the table: the tile for a pass and a packet of this many bytes per thread and access.
struct Tile {
  Pass pass;
  int packet_bytes;
  int block_threads;
  int ring_groups;
  int blocks_per_multiprocessor;  // that run at once: what registers and shared memory allow
  int min_strip_tokens;
  int max_strip_tokens;
};

// Widest packets first. Measured on an H200 (docs/performance.md): 8-byte packets keep the registers of one thread low
// enough for the bytes in flight that the memory needs; the narrow ones serve rows whose alignment allows no more.
// Short forward strips find the rows they share with their neighbour in L2 and keep the last wave short; long backward
// strips keep the partial sums few.
constexpr Tile kTiles[] = {
    {Pass::kForward, 8, 128, 4, 8, 16, 16},   {Pass::kForward, 4, 128, 4, 8, 16, 16},
    {Pass::kForward, 2, 128, 4, 8, 16, 16},   {Pass::kBackward, 8, 128, 3, 4, 32, 480},
    {Pass::kBackward, 4, 128, 3, 4, 32, 480}, {Pass::kBackward, 2, 128, 3, 4, 32, 480},
};

constexpr std::int64_t kMaxThreads = std::int64_t{1} << 31;
constexpr std::int64_t kLongestStrip = std::int64_t{1} << 28;  // positions in a strip are 32-bit

constexpr int kMaxMultiprocessors = 256;  // larger GPUs are treated as if they had these

int element_bytes(cake_dtype dtype) {
  return dtype == CAKE_DTYPE_FP32 ? 4 : 2;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

const Tile& tile_of(const Specialization& s) {
  for (const Tile& tile : kTiles) {
    if (tile.pass == s.pass && tile.packet_bytes == s.vector_channels * element_bytes(s.dtype)) return tile;
  }
  // A tuner's tile: the partition of the widest.
  return s.pass == Pass::kForward ? kTiles[0] : kTiles[3];
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
            .block_threads = tile.block_threads,
            .group_rows = 4,
            .ring_groups = tile.ring_groups};
  }
  throw Error(CAKE_STATUS_INTERNAL, fmt::format("no route for {} channels, rows aligned to {} bytes, {}-byte elements",
                                                query.channels, query.row_alignment, bytes));
}

// As few waves of blocks as strips of the largest size allow, then strips just long enough to fill the last wave too.
int strip_tokens(const Specialization& s, std::int64_t tokens, int multiprocessors) {
  const Tile& tile = tile_of(s);
  const std::int64_t wave_threads = std::int64_t{std::clamp(multiprocessors, 1, kMaxMultiprocessors)} *
                                    tile.blocks_per_multiprocessor * s.block_threads;
  const std::int64_t row_threads = s.channels / s.vector_channels;
  // tokens * row_threads may pass 2^63 only for shapes that make_launch_plan refuses.
  const std::int64_t work =
      tokens > (std::int64_t{1} << 62) / row_threads ? std::int64_t{1} << 62 : tokens * row_threads;
  const std::int64_t waves = std::max<std::int64_t>(1, ceil_div(work, wave_threads * tile.max_strip_tokens));
  const std::int64_t even =
      std::clamp<std::int64_t>(ceil_div(work, waves * wave_threads), tile.min_strip_tokens, tile.max_strip_tokens);
  // The kernels number their threads in 32 bits: the largest problems get longer strips.
  const std::int64_t strip = std::max(even, ceil_div(work, kMaxThreads));
  return static_cast<int>(std::min(ceil_div(strip, s.group_rows) * s.group_rows, kLongestStrip));
}

// strip_tokens' arithmetic from above: waves < work / (wave_threads * max) + 1, so strips < tokens / max + wave_threads
// / row_threads + 2, and never more than strips of the least size.
std::int64_t max_backward_strips(std::int64_t tokens, std::int64_t channels, cake_dtype dtype) {
  std::int64_t most = 0;
  for (const Tile& tile : kTiles) {
    const int vector = tile.packet_bytes / element_bytes(dtype);
    if (tile.pass != Pass::kBackward || vector < 1) continue;
    const std::int64_t row_threads = std::max<std::int64_t>(1, channels / vector);
    const std::int64_t wave_threads =
        std::int64_t{kMaxMultiprocessors} * tile.blocks_per_multiprocessor * tile.block_threads;
    most = std::max(most, std::min(ceil_div(tokens, tile.min_strip_tokens),
                                   ceil_div(tokens, tile.max_strip_tokens) + ceil_div(wave_threads, row_threads) + 2));
  }
  return most;
}

}  // namespace cakejit::runtime
