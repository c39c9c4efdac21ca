// bf16, fp16 and fp32 for tests: conversions by plain arithmetic in double, slow and independent of the library's own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cakejit/cakejit.h"

namespace cakejit::test {

std::size_t bytes_of(cake_dtype dtype);
const char* name_of(cake_dtype dtype);

// `value` rounded to the nearest number of the type, ties to even; what does not fit becomes inf.
double round_to(cake_dtype dtype, double value);

// The largest error that rounding to the type can make at `value`.
double half_ulp(cake_dtype dtype, double value);

// Bits of `value`, which must be a number of the type (or NaN, or inf).
std::uint32_t encode(cake_dtype dtype, double value);
double decode(cake_dtype dtype, std::uint32_t bits);

// Element `index` of an array of the type; any alignment.
void put(void* values, cake_dtype dtype, std::int64_t index, double value);  // rounds
double get(const void* values, cake_dtype dtype, std::int64_t index);

}  // namespace cakejit::test
