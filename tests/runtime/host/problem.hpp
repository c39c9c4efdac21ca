// A small problem in host memory for tests that call the host route directly.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/host/host_route.hpp"
#include "tests/support/reference.hpp"

namespace cakejit::test {

struct HostResult {
  std::vector<std::byte> y;
  std::vector<std::byte> dx;
  std::vector<float> dweight;
  std::vector<float> dbias;

  bool operator==(const HostResult& other) const;  // bit for bit
};

// Dense tensors of one dtype; weights, bias and gradients are fp32.
class HostProblem {
 public:
  HostProblem(Offsets offsets, std::int64_t channels, cake_dtype dtype, std::uint64_t seed);

  // Values that the operation sees; change them before `run`.
  ReferenceInput input;

  [[nodiscard]] HostResult run(int threads, const host::KernelTable* kernels = nullptr) const;
  // With x, dy, y and dx lying elsewhere, in rows `stride` elements apart; x and dy are already filled in.
  [[nodiscard]] HostResult run_in(const std::byte* x, const std::byte* dy, std::byte* y, std::byte* dx,
                                  std::int64_t stride) const;
  [[nodiscard]] std::vector<double> values(const std::vector<std::byte>& tensor) const;

 private:
  struct Rows {
    const std::byte* x;
    const std::byte* dy;
    std::byte* y;
    std::byte* dx;
    std::int64_t stride;
  };
  void call(const Rows& rows, int threads, const host::KernelTable* kernels, HostResult& result) const;

  cake_dtype dtype_;
};

// ||found - expected|| / ||expected||.
double relative_error(const std::vector<double>& found, const std::vector<double>& expected);
double relative_error(const std::vector<float>& found, const std::vector<double>& expected);

}  // namespace cakejit::test
