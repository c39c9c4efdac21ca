// Tensors of a test in an executor's memory: slices of wider tables with guard bytes around, so that reads and writes
// outside the slice show. All that is not the slice is 0xFF bytes: NaN in every float type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/executor.hpp"
#include "tests/support/float_types.hpp"

namespace cakejit::test {

struct TensorLayout {
  cake_dtype dtype;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t first_column;

  static TensorLayout dense(cake_dtype dtype, std::int64_t rows, std::int64_t columns) {
    return {dtype, rows, columns, columns, 0};
  }
};

class GuardedTensor {
 public:
  // Every byte 0xFF, in the executor's memory too.
  GuardedTensor(Executor& executor, const TensorLayout& layout);

  // `values`: rows * columns, dense. Uploads.
  void write(const std::vector<double>& values);
  void write_integers(const std::vector<std::int64_t>& values);

  // Sets every byte of the slice and uploads; poison that a call must overwrite.
  void fill(std::byte poison);

  // The slice's values as they are now, and its bytes.
  [[nodiscard]] std::vector<double> values() const;
  [[nodiscard]] std::vector<std::byte> bytes() const;

  // "" if no byte outside the slice has changed since the last write or fill; else where the first one is.
  [[nodiscard]] std::string damage_outside() const;
  // The same for every byte.
  [[nodiscard]] std::string damage() const;

  [[nodiscard]] void* pointer() const;
  [[nodiscard]] const TensorLayout& layout() const { return layout_; }

 private:
  [[nodiscard]] std::size_t byte_of(std::int64_t row, std::int64_t column) const;
  [[nodiscard]] std::vector<std::byte> download() const;
  void upload();

  Executor* executor_;
  TensorLayout layout_;
  std::vector<std::byte> image_;  // what the memory held after the last upload
  ExecutorBuffer buffer_;
};

}  // namespace cakejit::test
