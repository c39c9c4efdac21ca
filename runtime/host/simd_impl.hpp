// Vectors of fp32 lanes over the compiler's vector extension: loads and stores of all three float types, and exp.
// Included only by kernels_impl.hpp, once per instruction set. Everything is in an unnamed namespace and nothing of the
// standard library is called: an inline function shared with other files could be linked in its AVX-512 form
// everywhere.

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace cakejit::host {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

using Floats = float __attribute__((vector_size(kLanes * 4)));
using Words = std::uint32_t __attribute__((vector_size(kLanes * 4)));
using Halves = std::uint16_t __attribute__((vector_size(kLanes * 2)));

struct Bf16 {
  std::uint16_t bits;
};
struct Fp16 {
  std::uint16_t bits;
};

// How many lanes of a vector are channels: all, or the first `count`; the others are not read (they are 0) nor written.
struct AllLanes {};
struct SomeLanes {
  int count;
};

#define CAKEJIT_INLINE [[gnu::always_inline]] inline

CAKEJIT_INLINE Floats splat(float value) {
  return value - Floats{};
}
CAKEJIT_INLINE Words words(Floats value) {
  return __builtin_bit_cast(Words, value);
}
CAKEJIT_INLINE Floats floats(Words value) {
  return __builtin_bit_cast(Floats, value);
}
CAKEJIT_INLINE Floats magnitude(Floats value) {
  return floats(words(value) & 0x7fffffffu);
}

// a * b + c: fused wherever the instruction set has it, never elsewhere.
CAKEJIT_INLINE Floats fma(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__ARM_FEATURE_FMA)
  Floats result = {};
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
  return result;
#else
  return a * b + c;
#endif
}

// ---- Widening: exact.

// Zero-extends. GCC 12 takes four instructions for what is one.
CAKEJIT_INLINE Words widen_words(Halves bits) {
#if defined(__AVX512F__)
  return __builtin_bit_cast(Words, _mm512_cvtepu16_epi32(__builtin_bit_cast(__m256i, bits)));
#elif defined(__AVX2__)
  return __builtin_bit_cast(Words, _mm256_cvtepu16_epi32(__builtin_bit_cast(__m128i, bits)));
#else
  return __builtin_convertvector(bits, Words);
#endif
}

CAKEJIT_INLINE Floats widen_bf16(Halves bits) {
  return floats(widen_words(bits) << 16);
}

CAKEJIT_INLINE Floats widen_fp16(Halves bits) {
#if defined(__AVX512F__)
  return _mm512_cvtph_ps(__builtin_bit_cast(__m256i, bits));
#elif defined(__AVX2__)
  return _mm256_cvtph_ps(__builtin_bit_cast(__m128i, bits));
#else
  const Words wide = widen_words(bits);
  // Exponent and mantissa in place are the value times 2^-112, for subnormals too.
  const Floats finite = floats((wide & 0x7fffu) << 13) * 0x1p112f;
  const Words special = words(finite) | 0x7f800000u;
  return floats(((wide & 0x7c00u) == 0x7c00u ? special : words(finite)) | (wide & 0x8000u) << 16);
#endif
}

// ---- Narrowing: round to nearest even; NaN stays NaN, overflow is inf.

CAKEJIT_INLINE Halves narrow_bf16(Floats value) {
  const Words bits = words(value);
  const Words rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const Words quiet_nan = bits >> 16 | 0x40u;
  return __builtin_convertvector(value == value ? rounded : quiet_nan, Halves);
}

CAKEJIT_INLINE Halves narrow_fp16(Floats value) {
#if defined(__AVX512F__)
  return __builtin_bit_cast(Halves, _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__AVX2__)
  return __builtin_bit_cast(Halves, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
#else
  const Words bits = words(value) & 0x7fffffffu;
  // Normal: exponent bias 127 -> 15, round at bit 13; from 65520 up this carries to inf by itself.
  Words result = (bits - (112u << 23) + 0xfffu + (bits >> 13 & 1u)) >> 13;
  // Below 2^-14: adding 0.5 rounds at 2^-24, the last bit of an fp16 subnormal.
  result = bits < 0x38800000u ? words(floats(bits) + 0.5f) - 0x3f000000u : result;
  result = bits >= 0x47800000u ? 0x7c00u + Words{} : result;
  result = bits > 0x7f800000u ? 0x7e00u + Words{} : result;
  return __builtin_convertvector(result | (words(value) >> 16 & 0x8000u), Halves);
#endif
}

CAKEJIT_INLINE Floats widen(Floats value, float) {
  return value;
}
CAKEJIT_INLINE Floats widen(Halves bits, Bf16) {
  return widen_bf16(bits);
}
CAKEJIT_INLINE Floats widen(Halves bits, Fp16) {
  return widen_fp16(bits);
}
CAKEJIT_INLINE Floats narrow(Floats value, float) {
  return value;
}
CAKEJIT_INLINE Halves narrow(Floats value, Bf16) {
  return narrow_bf16(value);
}
CAKEJIT_INLINE Halves narrow(Floats value, Fp16) {
  return narrow_fp16(value);
}

// ---- Loads and stores of kLanes neighbouring channels; no alignment is asked for.

// The vector as it lies in memory.
template <class T>
using Stored = decltype(narrow(Floats{}, T{}));

template <class T>
CAKEJIT_INLINE Floats load(const T* from, AllLanes) {
  Stored<T> stored;
  __builtin_memcpy(&stored, from, sizeof stored);
  return widen(stored, T{});
}

template <class T>
CAKEJIT_INLINE void store(T* to, Floats value, AllLanes) {
  const Stored<T> stored = narrow(value, T{});
  __builtin_memcpy(to, &stored, sizeof stored);
}

template <class T>
CAKEJIT_INLINE Floats load(const T* from, SomeLanes lanes) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>((1u << lanes.count) - 1);
  if constexpr (sizeof(T) == 4) return _mm512_maskz_loadu_ps(mask, from);
  if constexpr (sizeof(T) == 2) {
    return widen(__builtin_bit_cast(Halves, _mm256_maskz_loadu_epi16(mask, from)), T{});
  }
#else
  T buffer[kLanes] = {};
  for (int lane = 0; lane < lanes.count; ++lane) buffer[lane] = from[lane];
  return load(buffer, AllLanes{});
#endif
}

template <class T>
CAKEJIT_INLINE void store(T* to, Floats value, SomeLanes lanes) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>((1u << lanes.count) - 1);
  if constexpr (sizeof(T) == 4) _mm512_mask_storeu_ps(to, mask, value);
  if constexpr (sizeof(T) == 2) {
    _mm256_mask_storeu_epi16(to, mask, __builtin_bit_cast(__m256i, narrow(value, T{})));
  }
#else
  T buffer[kLanes];
  store(buffer, value, AllLanes{});
  for (int lane = 0; lane < lanes.count; ++lane) to[lane] = buffer[lane];
#endif
}

// ---- Functions.

// p * 2^n for -150 <= n <= 0, rounded once where the result is subnormal.
CAKEJIT_INLINE Floats scale(Floats p, Floats n) {
#if defined(__AVX512F__)
  return _mm512_scalef_ps(p, n);
#else
  using Integers = std::int32_t __attribute__((vector_size(kLanes * 4)));
  const Integers exponent = __builtin_convertvector(n, Integers);
  const Integers half = exponent >> 1;  // two steps: 2^-150 itself is no fp32 number
  const Floats first = __builtin_bit_cast(Floats, (half + 127) << 23);
  const Floats second = __builtin_bit_cast(Floats, (exponent - half + 127) << 23);
  return p * first * second;
#endif
}

// exp(v) for v <= 0, down to and including -inf; 0 for NaN. Error below 1.1 ulp where the result is normal (swept by
// tests/runtime/host). Range reduction and polynomial: Cephes' expf (S. Moshier).
CAKEJIT_INLINE Floats exp_nonpositive(Floats v) {
  const Floats smallest = splat(-104.0f);  // exp rounds to 0 from here down
  v = v > smallest ? v : smallest;
  const Floats magic = splat(0x1.8p23f);  // adding and taking off 1.5 * 2^23 rounds to an integer
  const Floats n = fma(v, splat(1.44269504088896341f), magic) - magic;
  Floats r = fma(n, splat(-0.693359375f), v);  // ln 2 in two parts, the first so short that n times it is exact
  r = fma(n, splat(2.12194440e-4f), r);
  Floats p = splat(1.9875691500e-4f);
  p = fma(p, r, splat(1.3981999507e-3f));
  p = fma(p, r, splat(8.3334519073e-3f));
  p = fma(p, r, splat(4.1665795894e-2f));
  p = fma(p, r, splat(1.6666665459e-1f));
  p = fma(p, r, splat(5.0000001201e-1f));
  return scale(fma(p, r * r, r) + 1.0f, n);
}

struct Sigmoid {
  Floats value;       // sigmoid(z)
  Floats complement;  // 1 - sigmoid(z), without cancellation
};

CAKEJIT_INLINE Sigmoid sigmoid(Floats z) {
  const Floats e = exp_nonpositive(-magnitude(z));
  const Floats large = 1.0f / (1.0f + e);
  const Floats small = e * large;
  const auto positive = z >= 0.0f;
  return {positive ? large : small, positive ? small : large};
}

// NaN for NaN and for -inf (-inf * 0), as torch.nn.functional.silu has it; inf for inf.
CAKEJIT_INLINE Floats silu(Floats z) {
  return z * sigmoid(z).value;
}

// NaN for NaN and for both infinities (inf * 0), as torch's silu_backward has it.
CAKEJIT_INLINE Floats silu_derivative(Floats z) {
  const Sigmoid sigmoid_z = sigmoid(z);
  return sigmoid_z.value * fma(z, sigmoid_z.complement, splat(1.0f));
}

}  // namespace
}  // namespace cakejit::host
