// One training step of the packed causal conv1d on the CPU, through the C++ API: three documents, forward and backward,
// checked against a plain loop in double precision. Exits 0 if they agree.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "cakejit/cakejit.hpp"

namespace {

constexpr std::int64_t kChannels = 96;
const std::vector<std::int32_t> kOffsets = {0, 5, 6, 40};  // documents of 5, 1 and 34 tokens, packed
const std::int64_t kTokens = kOffsets.back();

// y, dx, dw as the operation defines them (silu, no bias), in doubles.
struct Expected {
  std::vector<double> y, dx, dw;
};

std::size_t at(std::int64_t t, std::int64_t c) {
  return static_cast<std::size_t>(t * kChannels + c);
}

Expected plain_loop(const std::vector<float>& x, const std::vector<float>& w, const std::vector<float>& dy) {
  Expected e{std::vector<double>(x.size()), std::vector<double>(x.size()), std::vector<double>(w.size())};
  for (std::size_t document = 0; document + 1 < kOffsets.size(); ++document) {
    const std::int64_t begin = kOffsets[document];
    for (std::int64_t t = begin; t < kOffsets[document + 1]; ++t) {
      for (std::int64_t c = 0; c < kChannels; ++c) {
        const std::int64_t first = std::max<std::int64_t>(0, begin + 3 - t);  // taps before the document are 0
        double z = 0;
        for (std::int64_t k = first; k < 4; ++k) z += double{w[std::size_t(c * 4 + k)]} * x[at(t - 3 + k, c)];
        const double s = 1 / (1 + std::exp(-z));
        const double dz = dy[at(t, c)] * s * (1 + z * (1 - s));
        e.y[at(t, c)] = z * s;
        for (std::int64_t k = first; k < 4; ++k) {
          e.dx[at(t - 3 + k, c)] += w[std::size_t(c * 4 + k)] * dz;
          e.dw[std::size_t(c * 4 + k)] += dz * x[at(t - 3 + k, c)];
        }
      }
    }
  }
  return e;
}

// Values of about -1 to 1 that differ from one another.
std::vector<float> wave(std::int64_t size, double step) {
  std::vector<float> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(step * double(i + 1)));
  return values;
}

// Prints the largest difference; says whether it is within what fp32 arithmetic explains.
bool agree(const char* name, const std::vector<float>& got, const std::vector<double>& want) {
  double difference = 0;
  for (std::size_t i = 0; i < got.size(); ++i) difference = std::max(difference, std::abs(got[i] - want[i]));
  const bool right = difference < 1e-5;
  std::printf("  %-2s  %5zu values, largest difference %.1e  %s\n", name, got.size(), difference,
              right ? "right" : "WRONG");
  return right;
}

bool run() {
  const auto x = wave(kTokens * kChannels, 0.37);
  const auto w = wave(kChannels * 4, 1.13);
  const auto dy = wave(kTokens * kChannels, 0.71);
  std::vector<float> y(x.size()), dx(x.size()), dw(w.size());

  const auto problem = cakejit::make_problem({.device = CAKE_DEVICE_HOST,
                                              .tokens = kTokens,
                                              .channels = kChannels,
                                              .documents = static_cast<std::int64_t>(kOffsets.size()) - 1,
                                              .dtype = CAKE_DTYPE_FP32});
  const cakejit::Context context({.host_threads = 2});

  std::vector<std::byte> workspace(
      std::max(cakejit::forward_workspace_bytes(problem), cakejit::backward_workspace_bytes(problem)));
  cakejit::forward(problem,
                   cakejit::ForwardTensors{.x = x.data(),
                                           .weight = w.data(),
                                           .cu_seqlens = kOffsets.data(),
                                           .y = y.data(),
                                           .workspace = workspace.data(),
                                           .workspace_bytes = workspace.size()},
                   nullptr, context);
  cakejit::backward(problem,
                    cakejit::BackwardTensors{.x = x.data(),
                                             .weight = w.data(),
                                             .dy = dy.data(),
                                             .cu_seqlens = kOffsets.data(),
                                             .dx = dx.data(),
                                             .dweight = dw.data(),
                                             .workspace = workspace.data(),
                                             .workspace_bytes = workspace.size()},
                    nullptr, context);

  const Expected expected = plain_loop(x, w, dy);
  std::printf("cakejit %s, host route: %lld tokens in %zu documents, %lld channels\n", cakejit::version().c_str(),
              static_cast<long long>(kTokens), kOffsets.size() - 1, static_cast<long long>(kChannels));
  const bool y_right = agree("y", y, expected.y);
  const bool dx_right = agree("dx", dx, expected.dx);
  return agree("dw", dw, expected.dw) && y_right && dx_right;
}

}  // namespace

int main() {
  try {
    return run() ? 0 : 1;
  } catch (const cakejit::Error& error) {
    std::fprintf(stderr, "%s: %s\n", cake_status_name(error.status()), error.what());
    return 1;
  }
}
