// How a problem is cut into tasks: strips of tokens times blocks of channels. Both sizes are fixed, so that the order
// of every sum, and with it every bit, depends on the problem alone and never on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cakejit::host {

// A strip's partial sums cost 20 bytes per channel and its edge recomputes 3 tokens, so longer is cheaper; shorter
// gives more tasks.
inline constexpr std::int64_t kStripTokens = 512;

// A block's parameters and running sums (about 30 KiB) stay in the second-level cache while its strip goes by.
inline constexpr std::int64_t kBlockChannels = 512;

// The filter is 4 wide: a token depends on 3 before it, and its input gradient on 3 after it.
inline constexpr int kTaps = 4;
inline constexpr int kHalo = kTaps - 1;

// Partial sums per channel: dweight's 4, then dbias.
inline constexpr int kSums = kTaps + 1;

struct Task {
  std::int64_t strip;
  std::int64_t first_token;
  std::int64_t tokens;
  std::int64_t first_channel;
  std::int64_t channels;
};

class Tiling {
 public:
  Tiling(std::int64_t tokens, std::int64_t channels) : tokens_(tokens), channels_(channels) {}

  [[nodiscard]] std::int64_t strips() const { return (tokens_ + kStripTokens - 1) / kStripTokens; }
  [[nodiscard]] std::int64_t blocks() const { return (channels_ + kBlockChannels - 1) / kBlockChannels; }
  [[nodiscard]] std::int64_t tasks() const { return strips() * blocks(); }

  [[nodiscard]] Task task(std::int64_t index) const {
    const std::int64_t strip = index / blocks();
    const std::int64_t first_token = strip * kStripTokens;
    const std::int64_t first_channel = index % blocks() * kBlockChannels;
    return {strip, first_token, std::min(kStripTokens, tokens_ - first_token), first_channel,
            std::min(kBlockChannels, channels_ - first_channel)};
  }

 private:
  std::int64_t tokens_;
  std::int64_t channels_;
};

}  // namespace cakejit::host
