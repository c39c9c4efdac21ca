#include "tests/support/reference.hpp"

#include <cmath>

namespace cakejit::test {
namespace {

constexpr int kTaps = 4;

double sigmoid(double z) {
  return 1 / (1 + std::exp(-z));
}

// Indices of the flat arrays.
struct Index {
  std::int64_t channels;

  [[nodiscard]] std::size_t row(std::int64_t token, std::int64_t channel) const {
    return static_cast<std::size_t>(token * channels + channel);
  }
  [[nodiscard]] static std::size_t tap(std::int64_t channel, int k) {
    return static_cast<std::size_t>(channel * kTaps + k);
  }
};

struct Preactivation {
  double z;
  double magnitude;
};

Preactivation preactivation(const ReferenceInput& input, std::int64_t document_begin, std::int64_t t, std::int64_t c) {
  const Index at{input.channels};
  const double bias = input.bias.empty() ? 0 : input.bias[static_cast<std::size_t>(c)];
  Preactivation sum = {bias, std::fabs(bias)};
  for (int k = 0; k < kTaps; ++k) {
    if (t - 3 + k < document_begin) continue;
    const double term = input.weight[at.tap(c, k)] * input.x[at.row(t - 3 + k, c)];
    sum.z += term;
    sum.magnitude += std::fabs(term);
  }
  return sum;
}

// body(first token, end token) for each document.
template <class Body>
void for_each_document(const Offsets& offsets, Body body) {
  for (std::size_t document = 0; document + 1 < offsets.size(); ++document) {
    body(offsets[document], offsets[document + 1]);
  }
}

ReferenceTensor gradient_of_z(const ReferenceInput& input) {
  const Index at{input.channels};
  ReferenceTensor dz(input.tokens() * input.channels);
  for_each_document(input.offsets, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      for (std::int64_t c = 0; c < input.channels; ++c) {
        const double dy = input.dy[at.row(t, c)];
        dz.value[at.row(t, c)] = dy;
        dz.magnitude[at.row(t, c)] = std::fabs(dy);
        if (input.activation == CAKE_ACTIVATION_IDENTITY) continue;
        const Preactivation sum = preactivation(input, begin, t, c);
        dz.value[at.row(t, c)] *= reference_silu_derivative(sum.z);
        dz.magnitude[at.row(t, c)] *= 1 + sum.magnitude;
      }
    }
  });
  return dz;
}

void add(ReferenceSum& sum, std::size_t index, double term, double magnitude) {
  sum.value[index] += term;
  sum.magnitude[index] += magnitude;
  sum.root_square[index] += term * term;
}

void take_roots(ReferenceSum& sum) {
  for (double& value : sum.root_square) value = std::sqrt(value);
}

}  // namespace

double reference_silu(double z) {
  return z * sigmoid(z);
}

double reference_silu_derivative(double z) {
  return sigmoid(z) * (1 + z * sigmoid(-z));
}

ReferenceTensor reference_forward(const ReferenceInput& input) {
  const Index at{input.channels};
  ReferenceTensor y(input.tokens() * input.channels);
  for_each_document(input.offsets, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      for (std::int64_t c = 0; c < input.channels; ++c) {
        const Preactivation sum = preactivation(input, begin, t, c);
        const bool silu = input.activation == CAKE_ACTIVATION_SILU;
        const double value = silu ? reference_silu(sum.z) : sum.z;
        y.value[at.row(t, c)] = value;
        y.magnitude[at.row(t, c)] = silu ? sum.magnitude + std::fabs(value) * (1 + std::fabs(sum.z)) : sum.magnitude;
      }
    }
  });
  return y;
}

ReferenceBackward reference_backward(const ReferenceInput& input) {
  const Index at{input.channels};
  const std::int64_t channels = input.channels;
  const ReferenceTensor dz = gradient_of_z(input);
  ReferenceBackward result{ReferenceTensor(input.tokens() * channels), ReferenceSum(channels * kTaps),
                           ReferenceSum(channels)};
  for_each_document(input.offsets, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::size_t here = at.row(t, c);
        for (int k = 0; k < kTaps; ++k) {
          if (t + 3 - k < end) {
            const double w = input.weight[at.tap(c, k)];
            result.dx.value[here] += w * dz.value[at.row(t + 3 - k, c)];
            result.dx.magnitude[here] += std::fabs(w) * dz.magnitude[at.row(t + 3 - k, c)];
          }
          if (t - 3 + k >= begin) {
            const double x = input.x[at.row(t - 3 + k, c)];
            add(result.dweight, at.tap(c, k), dz.value[here] * x, dz.magnitude[here] * std::fabs(x));
          }
        }
        add(result.dbias, static_cast<std::size_t>(c), dz.value[here], dz.magnitude[here]);
      }
    }
  });
  take_roots(result.dweight);
  take_roots(result.dbias);
  return result;
}

}  // namespace cakejit::test
