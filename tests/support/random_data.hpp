// Seeded random values. The same seed gives the same data with one standard library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace cakejit::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // From `low` to `high`, both included.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(engine_); }
  double normal() { return normal_(engine_); }

  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[integer(0, static_cast<std::int64_t>(choices.size()) - 1)];
  }

  std::vector<double> normals(std::int64_t count, double scale = 1) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& value : values) value = scale * normal();
    return values;
  }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

}  // namespace cakejit::test
