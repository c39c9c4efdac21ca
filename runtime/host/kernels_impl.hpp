// The kernels' text. Included by kernels_<instruction set>.cpp only, which name the table that it defines.
//
// Rows are taken 8 at a time where 8 follow each other inside one document: each row of x is then read from memory once
// and its three predecessors come from registers. Rows near a document's or the strip's edge are taken singly. Both do
// the same operations on an element in the same order, so y and dx do not depend on the grouping.
#include "runtime/host/kernels.hpp"
#include "runtime/host/simd_impl.hpp"

namespace cakejit::host {
namespace {

constexpr int kGroup = 8;

// The running sums are added up over this many tokens before they go to the strip's sums: short chains lose few bits.
constexpr std::int64_t kRecentTokens = 64;

// True if each of the group's rows has its three predecessors.
CAKEJIT_INLINE bool is_interior(const std::uint8_t* history) {
  std::uint64_t packed = 0;
  __builtin_memcpy(&packed, history, kGroup);
  return packed == 0x0303030303030303u;
}

struct Taps {
  Floats weight[kTaps];
  Floats bias;
};

CAKEJIT_INLINE Taps load_taps(const Parameters& parameters, std::int64_t channel) {
  const auto at = [&](const float* values) { return load(values + channel, AllLanes{}); };
  return {{at(parameters.weight[0]), at(parameters.weight[1]), at(parameters.weight[2]), at(parameters.weight[3])},
          at(parameters.bias)};
}

// x[t-3] ... x[t], as a window that moves down the rows.
struct Window {
  Floats row[kTaps];

  CAKEJIT_INLINE void push(Floats next) {
    row[0] = row[1];
    row[1] = row[2];
    row[2] = row[3];
    row[3] = next;
  }
};

// The window before row `x`: of the rows in front only those that exist (`history` of them) are read.
template <class T, class Lanes>
CAKEJIT_INLINE Window load_window(const T* x, std::int64_t stride, int history, Lanes lanes) {
  Window window = {};
  if (history >= 3) window.row[1] = load(x - 3 * stride, lanes);
  if (history >= 2) window.row[2] = load(x - 2 * stride, lanes);
  if (history >= 1) window.row[3] = load(x - stride, lanes);
  return window;
}

// z; taps before the document's start are left out, not multiplied by 0.
CAKEJIT_INLINE Floats convolve(const Taps& taps, const Window& x, int history) {
  Floats z = taps.bias;
  if (history >= 3) z = fma(taps.weight[0], x.row[0], z);
  if (history >= 2) z = fma(taps.weight[1], x.row[1], z);
  if (history >= 1) z = fma(taps.weight[2], x.row[2], z);
  return fma(taps.weight[3], x.row[3], z);
}

// body(channel, lanes) for each vector of channels.
template <class Body>
CAKEJIT_INLINE void for_each_vector(std::int64_t channels, Body body) {
  std::int64_t channel = 0;
  for (; channel + kLanes <= channels; channel += kLanes) body(channel, AllLanes{});
  if (channel < channels) body(channel, SomeLanes{static_cast<int>(channels - channel)});
}

// ---- Forward.

template <class T, bool kSilu, int kRows>
void forward_rows(const ForwardStrip& strip, std::int64_t token) {
  const T* const x = static_cast<const T*>(strip.x) + token * strip.x_stride;
  T* const y = static_cast<T*>(strip.y) + token * strip.y_stride;
  const int history = kRows == 1 ? strip.history[token] : kHalo;
  for_each_vector(strip.channels, [&](std::int64_t channel, auto lanes) {
    const Taps taps = load_taps(*strip.parameters, channel);
    Window window = load_window(x + channel, strip.x_stride, history, lanes);
    // All reads before the first write: with a power-of-two row stride each row of y lies where the next row of x does,
    // modulo 4 KiB, and a read behind such a write waits for it. (The backward has no registers to spare for this.)
    Floats next[kRows];
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) next[row] = load(x + row * strip.x_stride + channel, lanes);
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      window.push(next[row]);
      const Floats z = convolve(taps, window, history);
      store(y + row * strip.y_stride + channel, kSilu ? silu(z) : z, lanes);
    }
  });
}

template <class T, bool kSilu>
void forward_strip(const ForwardStrip& strip) {
  for (std::int64_t token = 0; token < strip.tokens;) {
    if (token + kGroup <= strip.tokens && is_interior(strip.history + token)) {
      forward_rows<T, kSilu, kGroup>(strip, token);
      token += kGroup;
    } else {
      forward_rows<T, kSilu, 1>(strip, token);
      token += 1;
    }
  }
}

// ---- Backward. Row t yields dz[t] and then dx[t-3], the first row whose four dz are known.

struct alignas(64) BackwardState {
  float dz[kHalo][kBlockChannels];  // of the three rows before the next one
  float recent[kSums][kBlockChannels];
  float total[kSums][kBlockChannels];
};

template <bool kSilu>
CAKEJIT_INLINE Floats gradient_of_z(const Taps& taps, const Window& x, int history, Floats dy) {
  return kSilu ? dy * silu_derivative(convolve(taps, x, history)) : dy;
}

template <class T, bool kSilu>
void backward_group(const BackwardStrip& strip, std::int64_t token, BackwardState& state) {
  const T* const x = static_cast<const T*>(strip.x) + token * strip.x_stride;
  const T* const dy = static_cast<const T*>(strip.dy) + token * strip.dy_stride;
  T* const dx = static_cast<T*>(strip.dx) + (token - kHalo) * strip.dx_stride;
  for_each_vector(strip.channels, [&](std::int64_t channel, auto lanes) {
    const Taps taps = load_taps(*strip.parameters, channel);
    Window window = load_window(x + channel, strip.x_stride, kHalo, lanes);
    Window dz = {};
    for (int row = 0; row < kHalo; ++row) dz.row[row + 1] = load(state.dz[row] + channel, AllLanes{});
    Floats sums[kSums] = {};
#pragma GCC unroll 8
    for (int row = 0; row < kGroup; ++row) {
      window.push(load(x + row * strip.x_stride + channel, lanes));
      dz.push(gradient_of_z<kSilu>(taps, window, kHalo, load(dy + row * strip.dy_stride + channel, lanes)));
      for (int tap = 0; tap < kTaps; ++tap) sums[tap] = fma(dz.row[3], window.row[tap], sums[tap]);
      sums[kTaps] += dz.row[3];
      Floats result = taps.weight[3] * dz.row[0];
      for (int ahead = 1; ahead < kTaps; ++ahead) result = fma(taps.weight[3 - ahead], dz.row[ahead], result);
      store(dx + row * strip.dx_stride + channel, result, lanes);
    }
    for (int row = 0; row < kHalo; ++row) store(state.dz[row] + channel, dz.row[row + 1], AllLanes{});
    for (int sum = 0; sum < kSums; ++sum) {
      float* const recent = state.recent[sum] + channel;
      store(recent, load(recent, AllLanes{}) + sums[sum], AllLanes{});
    }
  });
}

// One row, at an edge: `token` may be up to three rows past the strip, whose dz the strip's last rows need; such a row
// belongs to the next strip's sums.
template <class T, bool kSilu>
void backward_row(const BackwardStrip& strip, std::int64_t token, BackwardState& state) {
  const T* const x = static_cast<const T*>(strip.x) + token * strip.x_stride;
  const T* const dy = static_cast<const T*>(strip.dy) + token * strip.dy_stride;
  T* const dx = static_cast<T*>(strip.dx) + (token - kHalo) * strip.dx_stride;
  const bool in_strip = token < strip.tokens;
  const int history = strip.history[token];
  const bool needed = in_strip || history > token - strip.tokens;  // by a row of the strip in the same document
  const std::uint8_t* const ahead_of = strip.history + token - kHalo;
  for_each_vector(strip.channels, [&](std::int64_t channel, auto lanes) {
    const Taps taps = load_taps(*strip.parameters, channel);
    Window dz = {};
    for (int row = 0; row < kHalo; ++row) dz.row[row] = load(state.dz[row] + channel, AllLanes{});
    if (needed) {
      Window window = load_window(x + channel, strip.x_stride, history, lanes);
      window.push(load(x + channel, lanes));
      dz.row[3] = gradient_of_z<kSilu>(taps, window, history, load(dy + channel, lanes));
      for (int tap = kHalo - history; in_strip && tap < kTaps; ++tap) {
        float* const recent = state.recent[tap] + channel;
        store(recent, fma(dz.row[3], window.row[tap], load(recent, AllLanes{})), AllLanes{});
      }
      float* const recent = state.recent[kTaps] + channel;
      if (in_strip) store(recent, load(recent, AllLanes{}) + dz.row[3], AllLanes{});
    }
    if (token >= kHalo) {
      Floats result = taps.weight[3] * dz.row[0];
      for (int ahead = 1; ahead < kTaps; ++ahead) {
        if (ahead_of[ahead] >= ahead) result = fma(taps.weight[3 - ahead], dz.row[ahead], result);
      }
      store(dx + channel, result, lanes);
    }
    for (int row = 0; row < kHalo; ++row) store(state.dz[row] + channel, dz.row[row + 1], AllLanes{});
  });
}

void add_recent_to_total(BackwardState& state, std::int64_t channels) {
  for (int sum = 0; sum < kSums; ++sum) {
    for (std::int64_t channel = 0; channel < channels; channel += kLanes) {
      float* const recent = state.recent[sum] + channel;
      float* const total = state.total[sum] + channel;
      store(total, load(total, AllLanes{}) + load(recent, AllLanes{}), AllLanes{});
      store(recent, Floats{}, AllLanes{});
    }
  }
}

template <class T, bool kSilu>
void backward_strip(const BackwardStrip& strip) {
  BackwardState state = {};
  std::int64_t next_total = kRecentTokens;
  for (std::int64_t token = 0; token < strip.tokens + kHalo;) {
    if (token >= kHalo && token + kGroup <= strip.tokens && is_interior(strip.history + token)) {
      backward_group<T, kSilu>(strip, token, state);
      token += kGroup;
    } else {
      backward_row<T, kSilu>(strip, token, state);
      token += 1;
    }
    if (token >= next_total) {
      add_recent_to_total(state, strip.channels);
      next_total += kRecentTokens;
    }
  }
  add_recent_to_total(state, strip.channels);
  const auto bytes = static_cast<std::size_t>(strip.channels) * sizeof(float);
  for (int sum = 0; sum < kSums; ++sum) {
    if (strip.sums[sum] != nullptr) __builtin_memcpy(strip.sums[sum], state.total[sum], bytes);
  }
}

// ---- The table.

template <class T>
void forward_of_type(cake_activation activation, const ForwardStrip& strip) {
  activation == CAKE_ACTIVATION_SILU ? forward_strip<T, true>(strip) : forward_strip<T, false>(strip);
}

template <class T>
void backward_of_type(cake_activation activation, const BackwardStrip& strip) {
  activation == CAKE_ACTIVATION_SILU ? backward_strip<T, true>(strip) : backward_strip<T, false>(strip);
}

void forward_any(cake_dtype dtype, cake_activation activation, const ForwardStrip& strip) {
  switch (dtype) {
    case CAKE_DTYPE_BF16: return forward_of_type<Bf16>(activation, strip);
    case CAKE_DTYPE_FP16: return forward_of_type<Fp16>(activation, strip);
    default: return forward_of_type<float>(activation, strip);
  }
}

void backward_any(cake_dtype dtype, cake_activation activation, const BackwardStrip& strip) {
  switch (dtype) {
    case CAKE_DTYPE_BF16: return backward_of_type<Bf16>(activation, strip);
    case CAKE_DTYPE_FP16: return backward_of_type<Fp16>(activation, strip);
    default: return backward_of_type<float>(activation, strip);
  }
}

template <class From, class To, class Function>
CAKEJIT_INLINE void map(const void* from, void* to, std::int64_t count, Function function) {
  for_each_vector(count, [&](std::int64_t index, auto lanes) {
    store(static_cast<To*>(to) + index, function(load(static_cast<const From*>(from) + index, lanes)), lanes);
  });
}

void map_exp(const float* from, float* to, std::int64_t count) {
  map<float, float>(from, to, count, [](Floats v) { return exp_nonpositive(v); });
}

void map_silu(const float* from, float* to, std::int64_t count) {
  map<float, float>(from, to, count, [](Floats v) { return silu(v); });
}

void map_silu_derivative(const float* from, float* to, std::int64_t count) {
  map<float, float>(from, to, count, [](Floats v) { return silu_derivative(v); });
}

void map_widen(cake_dtype dtype, const void* from, float* to, std::int64_t count) {
  const auto same = [](Floats v) { return v; };
  if (dtype == CAKE_DTYPE_BF16) map<Bf16, float>(from, to, count, same);
  if (dtype == CAKE_DTYPE_FP16) map<Fp16, float>(from, to, count, same);
}

void map_narrow(cake_dtype dtype, const float* from, void* to, std::int64_t count) {
  const auto same = [](Floats v) { return v; };
  if (dtype == CAKE_DTYPE_BF16) map<float, Bf16>(from, to, count, same);
  if (dtype == CAKE_DTYPE_FP16) map<float, Fp16>(from, to, count, same);
}

constexpr KernelTable kTable = {CAKEJIT_HOST_KERNELS_NAME, forward_any, backward_any, map_exp, map_silu,
                                map_silu_derivative,       map_widen,   map_narrow};

}  // namespace

const KernelTable& CAKEJIT_HOST_KERNELS() {
  return kTable;
}

}  // namespace cakejit::host
