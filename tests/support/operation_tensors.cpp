#include "tests/support/operation_tensors.hpp"

#include <algorithm>
#include <cstring>

namespace cakejit::test {
namespace {

// Before and after; keeps the payload's 256-byte alignment.
constexpr std::size_t kGuardBytes = 256;

std::string describe_difference(const std::vector<std::byte>& expected, const std::vector<std::byte>& found) {
  const auto [at, other] = std::mismatch(expected.begin(), expected.end(), found.begin());
  if (at == expected.end()) return "";
  const auto byte = at - expected.begin() - static_cast<std::ptrdiff_t>(kGuardBytes);
  return "byte " + std::to_string(byte) + " was overwritten";
}

}  // namespace

GuardedTensor::GuardedTensor(Executor& executor, const TensorLayout& layout)
    : executor_(&executor),
      layout_(layout),
      image_(2 * kGuardBytes + static_cast<std::size_t>(layout.rows * layout.row_stride) * bytes_of(layout.dtype),
             std::byte{0xff}),
      buffer_(executor, image_.size()) {
  upload();
}

std::size_t GuardedTensor::byte_of(std::int64_t row, std::int64_t column) const {
  const std::int64_t element = row * layout_.row_stride + layout_.first_column + column;
  return kGuardBytes + static_cast<std::size_t>(element) * bytes_of(layout_.dtype);
}

void* GuardedTensor::pointer() const {
  return buffer_.get() + byte_of(0, 0);
}

void GuardedTensor::upload() {
  executor_->upload(buffer_.get(), image_.data(), image_.size());
}

std::vector<std::byte> GuardedTensor::download() const {
  std::vector<std::byte> found(image_.size());
  executor_->download(found.data(), buffer_.get(), found.size());
  return found;
}

void GuardedTensor::write(const std::vector<double>& values) {
  auto value = values.begin();
  for (std::int64_t row = 0; row < layout_.rows; ++row) {
    std::byte* const first = image_.data() + byte_of(row, 0);
    for (std::int64_t column = 0; column < layout_.columns; ++column) put(first, layout_.dtype, column, *value++);
  }
  upload();
}

void GuardedTensor::write_integers(const std::vector<std::int64_t>& values) {
  for (std::size_t index = 0; index < values.size(); ++index) {
    std::byte* const to = image_.data() + byte_of(0, static_cast<std::int64_t>(index));
    std::memcpy(to, &values[index], bytes_of(layout_.dtype));  // little-endian: the low bytes come first
  }
  upload();
}

void GuardedTensor::fill(std::byte poison) {
  const std::size_t row_bytes = static_cast<std::size_t>(layout_.columns) * bytes_of(layout_.dtype);
  for (std::int64_t row = 0; row < layout_.rows; ++row) std::fill_n(image_.data() + byte_of(row, 0), row_bytes, poison);
  upload();
}

std::vector<double> GuardedTensor::values() const {
  const std::vector<std::byte> found = bytes();
  std::vector<double> result(static_cast<std::size_t>(layout_.rows * layout_.columns));
  for (std::size_t index = 0; index < result.size(); ++index) {
    result[index] = get(found.data(), layout_.dtype, static_cast<std::int64_t>(index));
  }
  return result;
}

std::vector<std::byte> GuardedTensor::bytes() const {
  const std::vector<std::byte> found = download();
  const std::size_t row_bytes = static_cast<std::size_t>(layout_.columns) * bytes_of(layout_.dtype);
  std::vector<std::byte> result;
  result.reserve(static_cast<std::size_t>(layout_.rows) * row_bytes);
  for (std::int64_t row = 0; row < layout_.rows; ++row) {
    const auto first = found.begin() + static_cast<std::ptrdiff_t>(byte_of(row, 0));
    result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(row_bytes));
  }
  return result;
}

std::string GuardedTensor::damage() const {
  return describe_difference(image_, download());
}

std::string GuardedTensor::damage_outside() const {
  std::vector<std::byte> found = download();
  const std::size_t row_bytes = static_cast<std::size_t>(layout_.columns) * bytes_of(layout_.dtype);
  for (std::int64_t row = 0; row < layout_.rows; ++row) {
    std::copy_n(image_.data() + byte_of(row, 0), row_bytes, found.data() + byte_of(row, 0));
  }
  return describe_difference(image_, found);
}

}  // namespace cakejit::test
