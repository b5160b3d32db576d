// Elementary functions for kernels. The float versions are branch-free so that the compiler vectorises loops
// over them (selects instead of branches, integers instead of library calls); they are within 1 ulp of the
// exact value where products and sums fuse, and right for NaN, infinities, zeros and subnormals. Doubles are in
// vector_math_double.h; what is in neither goes to the C++ library.
//
// The polynomials were fitted for this file (weighted minimax on Chebyshev nodes, then rounded to float). Where a term
// is what a rounding lost (b - (sum - a)), it is there for the last place.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

namespace mt::kernels::math {

#define MT_INLINE [[gnu::always_inline]] inline

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
// Adding and subtracting 1.5 * 2^23 rounds to the nearest integer and leaves that integer in the low bits.
inline constexpr float kRounder = 12582912.0f;

// Note [Selecting by bits]
// A conditional expression over floats is the compiler's to turn around: `x < 0 ? 0 : x` becomes "x, where it is not
// less than 0", a comparison that is also true for NaN. NEON has no such instruction, and GCC makes six of it. There,
// bits chosen by a mask leave the comparison as it was written. x86 has every comparison, and for a single number a
// mask would have to travel from one set of registers to the other.
template <class T, class Bits> MT_INLINE T select_bits(bool condition, T yes, T no) {
#ifdef __aarch64__
  const Bits mask = Bits(0) - Bits(condition);
  return std::bit_cast<T>((std::bit_cast<Bits>(yes) & mask) | (std::bit_cast<Bits>(no) & ~mask));
#else
  return condition ? yes : no;
#endif
}
MT_INLINE float select(bool condition, float yes, float no) {
  return select_bits<float, uint32_t>(condition, yes, no);
}
MT_INLINE double select(bool condition, double yes, double no) {
  return select_bits<double, uint64_t>(condition, yes, no);
}
template <class T> MT_INLINE T select(bool condition, T yes, T no) { return condition ? yes : no; }

// c0 + c1 x + c2 x^2 + …, four terms at a time: a chain of multiplications and additions, one waiting for the other,
// would leave the processor idle.
template <class T> MT_INLINE T polynomial(T, T c0) { return c0; }
template <class T> MT_INLINE T polynomial(T x, T c0, T c1) { return c0 + c1 * x; }
template <class T> MT_INLINE T polynomial(T x, T c0, T c1, T c2) { return (c0 + c1 * x) + c2 * (x * x); }
template <class T, class... Rest> MT_INLINE T polynomial(T x, T c0, T c1, T c2, T c3, Rest... rest) {
  const T square = x * x, first = (c0 + c1 * x) + (c2 + c3 * x) * square;
  if constexpr (sizeof...(rest) == 0) return first;
  else return first + polynomial(x, rest...) * (square * square);
}
MT_INLINE float copy_sign(float magnitude, float sign) {
  const uint32_t bits =
      (std::bit_cast<uint32_t>(magnitude) & 0x7fffffffu) | (std::bit_cast<uint32_t>(sign) & 0x80000000u);
  return std::bit_cast<float>(bits);
}
MT_INLINE float abs(float x) { return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7fffffffu); }

// The upper 26 digits, of a float 12: products of two such numbers are exact.
MT_INLINE double upper_half(double x) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & 0xfffffffff8000000ull);
}
MT_INLINE float upper_half(float x) { return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xfffff000u); }

// Note [Sums of two products]
// Where all code may fuse a product with a sum, compilers fuse the first of two products in a loop of numbers and the second
// in one of vectors, or the other way round. Here it is the second, so that a result does not depend on its neighbours. Not
// on x86-64, where the same text is compiled for machines with and without such an instruction.
template <class T> MT_INLINE T sum_of_products(T a, T b, T c, T d) {  // a * b + c * d
#if defined(__FP_FAST_FMA)
  return std::fma(c, d, a * b);
#else
  return a * b + c * d;
#endif
}
template <class T> MT_INLINE T difference_of_products(T a, T b, T c, T d) {
  return sum_of_products(a, b, -c, d);
}

#ifdef MT_DEVICE_CODE
// Code for an accelerator, whose compiler has these functions.
#undef MT_INLINE

}  // namespace mt::kernels::math

#include "kernels/common/device_math.h"
#else

// A sum and what its rounding lost, or a number with more digits than one has. Where the lost part may be a product's, a
// processor with fused products and sums loses nothing; the others lose what they would have lost anyway.
template <class T> struct PairOf {
  T value, lost;
};
// Of a and b, where a is the larger one or zero.
template <class T> MT_INLINE PairOf<T> added(T a, T b) {
  const T sum = a + b;
  return {sum, b - (sum - a)};
}

// exp(x) = 2^n * exp(r) with n the nearest integer to x/ln 2, applied by adding n to the exponent bits of exp(r).
// Results below 2^-100 are made 2^64 times too large first, so that they may be subnormal in the end; NaN passes the
// comparisons.
struct Exponent {
  float r;
  uint32_t n;  // at the exponent's place; unsigned, because it wraps for what is out of range
};
MT_INLINE Exponent split_for_exp(float x) {
  const float shifted = x * 1.44269504f + kRounder;
  const float n = shifted - kRounder;
  float r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  return {r, std::bit_cast<uint32_t>(shifted) << 23};
}
MT_INLINE float exp_of_rest(float r) {
  float p = 1.395047075e-3f;
  p = p * r + 8.368883028e-3f;
  p = p * r + 4.16662061e-2f;
  p = p * r + 0.1666651889f;
  p = p * r + 0.5000000095f;
  p = p * r + 1.0f;
  return p * r + 1.0f;
}
// exp(r) - 1 - r for what is left: exp(x) is 2^n + 2^n (r + this).
MT_INLINE float curve_of_exp(float r) {
  return (r * r) * polynomial(r, 0.5f, 0.166665196f, 0.0416663922f, 0.00836883206f, 0.00139415357f);
}
MT_INLINE float power_of(Exponent parts) { return std::bit_cast<float>(parts.n + (127u << 23)); }
// For x between -87 and 88.
MT_INLINE float exp_of_moderate(float x) {
  const Exponent parts = split_for_exp(x);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(exp_of_rest(parts.r)) + parts.n);
}
MT_INLINE float exp(float x) {
  const float c = select(x < -104.0f, -104.0f, x);
  const Exponent parts = split_for_exp(c);
  const bool small = c < -69.0f;
  const uint32_t bits = std::bit_cast<uint32_t>(exp_of_rest(parts.r)) + parts.n + (small ? 64u << 23 : 0u);
  const float value = std::bit_cast<float>(bits) * select(small, 5.42101086e-20f, 1.0f);
  return select(c > 88.7228394f, kInfinity, value);
}

// exp(x) for x <= 0 in one step of scaling: results that would be subnormal are 0. NaN stays NaN.
MT_INLINE float exp_below(float x) {
  const Exponent parts = split_for_exp(select(x < -87.0f, -87.0f, x));
  const float scale = std::bit_cast<float>(parts.n + (127u << 23));
  return select(x < -87.0f, 0.0f, exp_of_rest(parts.r) * scale);
}

// log(1 + f) + e ln 2 for 1 + f in [sqrt(1/2), sqrt(2)): f - f^2/2 and a polynomial for the rest.
MT_INLINE float rest_of_log(float f) {
  return polynomial(f, 0.3333333171f, -0.2500082117f, 0.2000122714f, -0.1662335259f, 0.1420174798f,
                    -0.1316022035f, 0.1276167262f, -0.07634518358f);
}
// Without the larger part of e ln 2; `more` is small.
MT_INLINE float rest_of_log(float f, float e, float more) {
  const float square = f * f;
  const float result = sum_of_products(f * square, rest_of_log(f), e, -2.12194440e-4f) + more;
  return (result - 0.5f * square) + f;
}
MT_INLINE float log_of_parts(float f, float e, float more) {
  return rest_of_log(f, e, more) + e * 0.693359375f;
}
// Subtracting the bits of sqrt(1/2) puts the boundary between exponents there instead of at 1.
struct Mantissa {
  float f, e;
};
// Of a positive normal number.
MT_INLINE bool has_usual_log(float x) { return (x >= 1.17549435e-38f) & (x < kInfinity); }
MT_INLINE Mantissa split_usual(float x) {
  const uint32_t offset = std::bit_cast<uint32_t>(x) - 0x3f3504f3u;
  return {std::bit_cast<float>((offset & 0x007fffffu) + 0x3f3504f3u) - 1.0f, float(int32_t(offset) >> 23)};
}
MT_INLINE Mantissa split_for_log(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const Mantissa parts = split_usual(select(tiny, x * 8388608.0f, x));
  return {parts.f, parts.e - select(tiny, 23.0f, 0.0f)};
}
MT_INLINE float log_at_edges(float x, float value) {
  value = select(x < kInfinity, value, x);  // infinity and NaN
  value = select(x == 0.0f, -kInfinity, value);
  return select(x < 0.0f, kNaN, value);
}
// log10(1 + f) + e log10(2): factors are short numbers, whose products with what is large are exact, and the rest of
// them, so that the logarithms of powers of ten come out whole.
MT_INLINE float log10_of(Mantissa parts) {
  const float f = parts.f, e = parts.e, square = f * f;
  const float curve = difference_of_products(f * square, rest_of_log(f), 0.5f, square);
  float result = sum_of_products(f + curve, -3.20551810e-3f, e, 2.48745664e-4f);
  result += curve * 0.4375f;
  result += f * 0.4375f;
  return result + e * 0.30078125f;
}
MT_INLINE float log_of(Mantissa parts) { return log_of_parts(parts.f, parts.e, 0.0f); }
// The logarithm of e to base 2 in an upper half and a rest; so is log(1 + f) = f - f^2 / 2 + ….
MT_INLINE float log2_of(Mantissa parts) {
  constexpr float unit = 1.4423828125f, unit_rest = 3.12228439e-4f;
  const float f = parts.f, half_square = 0.5f * f * f, rest = (f * f * f) * rest_of_log(f);
  const float upper = upper_half(f - half_square), lower = ((f - upper) - half_square) + rest;
  const PairOf<float> sum = added(parts.e, upper * unit);
  return sum.value + (sum.lost + sum_of_products(lower + upper, unit_rest, lower, unit));
}
MT_INLINE float log_usual(float x) { return log_of(split_usual(x)); }
MT_INLINE float log2_usual(float x) { return log2_of(split_usual(x)); }
MT_INLINE float log10_usual(float x) { return log10_of(split_usual(x)); }
MT_INLINE float log(float x) { return log_at_edges(x, log_of(split_for_log(x))); }
MT_INLINE float log10(float x) { return log_at_edges(x, log10_of(split_for_log(x))); }
MT_INLINE float log2(float x) { return log_at_edges(x, log2_of(split_for_log(x))); }
// With 2^e the power of two next to 1 + x, (1 + x) / 2^e - 1 is x / 2^e + (1 / 2^e - 1), which rounds once.
MT_INLINE float log1p(float x) {
  const float u = 1.0f + x;
  const uint32_t offset = std::bit_cast<uint32_t>(u) - 0x3f3504f3u;
  const int32_t e = int32_t(offset) >> 23;
  const float scale = std::bit_cast<float>((127 - e) << 23), line = scale - 1.0f, part = x * scale;
  const float sum = part + line, back = sum - line, lost = (line - (sum - back)) + (part - back);
  // For large x, where 1 does not count any more, the scale may underflow: there f is read off the bits.
  const float of_bits = std::bit_cast<float>((offset & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const bool large = x > 1e9f;
  const float f = select(large, of_bits, sum);
  float result = log_of_parts(f, float(e), select(large, 0.0f, lost - lost * f));
  result = select(x < kInfinity, result, x);
  result = select(x == -1.0f, -kInfinity, result);
  result = select(x == 0.0f, x, result);  // keeps the sign of zero
  return select(x < -1.0f, kNaN, result);
}

// Near zero an odd polynomial keeps relative accuracy; elsewhere 1 - 2 / (e + 1) with e = exp(2|x|), of which float has
// nothing left from 10 on. e + 1 is rounded once. What is used often is written so that little waits for what is before.
MT_INLINE float tanh(float x) {
  const float a = abs(x), z = x * x;
  const float curve = z * -0.333333284f + (z * z) * polynomial(z, 0.133331746f, -0.0539507158f, 0.0217743553f,
                                                               -0.00857107434f, 0.00304812356f,
                                                               -0.000821203983f, 0.000116208641f);
  const float shifted = a * 2.88539008f + kRounder, n = shifted - kRounder;
  const float r = (2.0f * a - n * 0.693359375f) + n * 2.12194440e-4f;
  const float power = power_of({r, std::bit_cast<uint32_t>(shifted) << 23});
  const float far = 1.0f - 2.0f / ((power + 1.0f) + power * (r + curve_of_exp(r)));
  return copy_sign(select(a < 0.9f, a + a * curve, select(a > 10.0f, 1.0f, far)), x);  // also of zero
}

MT_INLINE float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }

// x times a polynomial, and from 0.84 on 1 - exp(q), where q = x times a polynomial approximates log(erfc(x)); from 4 on erf
// is 1 in float.
MT_INLINE float erf(float x) {
  const float a = abs(x), z = x * x;
  const float curve = 0.128379166f + z * polynomial(z, -0.376126289f, 0.112836249f, -0.0268556364f,
                                                    0.00519202091f, -0.000804363517f, 7.96301902e-5f);
  const float t = select(a > 4.0f, 4.0f, a);
  const float rest = -0.128529489f + t * polynomial(t, -0.635667026f, -0.105329536f, 0.0229334179f,
                                                    -0.00322851818f, 0.000215631255f);
  const float q = rest * t - t;
  const Exponent parts = split_for_exp(q);
  const float power = power_of(parts);
  const float tail = parts.r + ((rest * t - (q + t)) + curve_of_exp(parts.r));
  const float far = (1.0f - power) - power * tail;
  return copy_sign(select(a < 0.84f, a + a * curve, far), x);
}

// Float functions that lose digits near zero are computed in double, whose spare bits absorb the
// cancellation.
MT_INLINE double exp_in_double(double x) {
  double c = select(x < -160.0, -160.0, x);
  c = select(c > 160.0, 160.0, c);
  constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52
  const double shifted = c * 1.4426950408889634 + rounder;
  const double r = c - (shifted - rounder) * 0.6931471805599453;
  const double p =
      polynomial(r, 1.0, 1.0, 0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320);
  const uint64_t n = std::bit_cast<uint64_t>(shifted) - std::bit_cast<uint64_t>(rounder);
  return p * std::bit_cast<double>((n + 1023u) << 52);
}

MT_INLINE float expm1(float x) {
  const double d = x;
  const double series = d + d * d * (0.5 + d * (1.0 / 6 + d * (1.0 / 24)));
  return copy_sign(select(abs(x) < 0.004f, float(series), float(exp_in_double(d) - 1.0)), x);
}
// Near zero their odd parts, which the difference of exponentials would lose.
MT_INLINE float sinh(float x) {
  const double d = x, e = exp_in_double(d), z = d * d;
  const double series = d + d * z * polynomial(z, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880);
  return select(abs(x) < 0.5f, float(series), float(0.5 * e - 0.5 / e));
}
MT_INLINE float cosh(float x) {
  const double e = exp_in_double(double(x));
  return float(0.5 * e + 0.5 / e);
}

// 1 / x with 45 digits, enough for what becomes a float: a step of Newton's from the quotient of floats, which takes less
// than half the time of one of doubles. For x and 1 / x in the range of normal floats.
MT_INLINE double inverse_in_double(double x) {
  const double near = double(1.0f / float(x));
  return near * (2.0 - x * near);
}

// log(m * 2^e) as e ln 2 + log m, both in double; for normal numbers.
struct LogParts {
  double exponent, mantissa;
};
MT_INLINE LogParts log_in_double(double u) {
  const uint64_t bits = std::bit_cast<uint64_t>(u);
  const uint64_t offset = bits - 0x3fe6a09e667f3bcdull;
  const uint64_t mantissa = (offset & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull;
  // The exponent as a double without a 64-bit conversion, which SSE2 and AVX2 do not have.
  const uint64_t biased = (offset + (uint64_t(1024) << 52)) >> 52;
  const double e = std::bit_cast<double>(biased | 0x4330000000000000ull) - 4503599627371520.0;
  const double f = std::bit_cast<double>(mantissa) - 1.0;
  const double s = f * inverse_in_double(2.0 + f), z = s * s;
  double p = 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  p = p * z + 2.0;
  return {e, s * p};
}

// 2^n * exp(r ln 2) with |r| <= 1/2; the whole part is exact.
MT_INLINE float exp2(float x) {
  float c = select(x < -152.0f, -152.0f, x);
  c = select(c > 130.0f, 130.0f, c);
  const float shifted = c + kRounder;
  const float p = exp_of_rest((c - (shifted - kRounder)) * 0.693147181f);
  const int32_t whole = int32_t(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kRounder));
  const int32_t first = whole >> 1, second = whole - first;
  return p * std::bit_cast<float>(uint32_t(first + 127) << 23) *
         std::bit_cast<float>(uint32_t(second + 127) << 23);
}

// What is left of |x| < 1e4 when the nearest multiple of pi/2 is taken off, in four parts: the first three are short enough
// for their products to be exact.
struct Turns {
  float r, rest;
  uint32_t quarters;
};
MT_INLINE Turns quarters_off(float x) {
  const float shifted = x * 0.636619772f + kRounder;
  const float n = shifted - kRounder;
  const float near = (x - n * 1.5703125f) - n * 4.83751296997e-4f, r = near - n * 7.54953362048e-8f;
  return {r, ((near - r) - n * 7.54953362048e-8f) - n * 2.56334415159e-12f, std::bit_cast<uint32_t>(shifted)};
}
// `quarter` shifts the phase (cos is sin a quarter turn ahead).
MT_INLINE float sine_at(float x, uint32_t quarter) {
  const Turns left = quarters_off(x);
  const float r = left.r, z = r * r;
  const float s = r + (left.rest + (r * z) * polynomial(z, -0.166666552f, 0.00833218917f, -0.00019518286f));
  const float half = 0.5f * z, base = 1.0f - half;
  const float curve = (z * z) * polynomial(z, 0.0416666456f, -0.00138873106f, 2.4432562e-5f);
  const float c = base + (((1.0f - base) - half) + (curve - r * left.rest));
  const uint32_t turns = left.quarters + quarter;
  const float value = select((turns & 1u) != 0, c, s);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) ^ ((turns & 2u) << 30));
}
MT_INLINE float sin_usual(float x) { return select(x == 0.0f, x, sine_at(x, 0)); }  // keeps the sign of zero
MT_INLINE float cos_usual(float x) { return sine_at(x, 1); }
// tan(r) = r + r y, or -1 over it. r^2 is the square of an upper half, which is exact, and the rest.
MT_INLINE float tan_usual(float x) {
  const Turns left = quarters_off(x);
  const float r = left.r + left.rest, r_rest = left.rest - (r - left.r);
  const float z = r * r, square = z * z, upper = upper_half(r), lower = (r - upper) * (r + upper);
  const float curve = square * polynomial(z, 0.133326754f, 0.0540589057f, 0.0212862939f, 0.010827099f,
                                          9.88298343e-5f, 0.00437234156f);
  const float y = upper * upper * 0.333333492f + (lower * 0.333333492f + curve);
  const float value = r + r * y, lost = (r * y + (r - value)) + (r_rest + r_rest * (z + 0.9f * square));
  const float q = 1.0f / value, turned = -(q + q * ((1.0f - value * q) - lost * q));
  return select(x == 0.0f, x, select((left.quarters & 1u) != 0, turned, value + lost));
}

// Beyond 1 the arc of 1/x, and of what the quotient lacks, is taken off a quarter turn.
MT_INLINE float atan(float x) {
  const float a = abs(x);
  const bool steep = a > 1.0f;
  const float q = -1.0f / a, t = select(steep, q, a), z = t * t;
  const float lacks = select(steep, select(a < 1e10f, 1.0f + q * a, 0.0f), 0.0f);
  const float p = z * polynomial(z, 0.19998534f, -0.142641023f, 0.109515063f, -0.0840158165f, 0.0579272285f,
                                 -0.0311489366f, 0.0108996965f, -0.00179040583f);
  const float rest = t * (z * -0.333332986f + (z * (p - 0.5f * lacks) + lacks));
  const PairOf<float> sum = added(select(steep, 1.57079637f, 0.0f), t);
  return copy_sign(sum.value + (rest + (sum.lost + select(steep, -4.37113883e-8f, 0.0f))), x);
}

// The smaller of the two over the larger, as a quotient and what it lacks, then the octant that the point is in.
MT_INLINE float atan2(float y, float x) {
  const float up = abs(y), along = abs(x);
  const bool steep = up > along;
  float small = select(steep, along, up), large = select(steep, up, along);
  const bool far = large == kInfinity;  // of two infinities neither is larger
  small = select(far, select(small == kInfinity, 1.0f, 0.0f), small);
  large = select(far | (large == 0.0f), 1.0f, large);
  const float scale = select(large > 1e30f, 0x1p-60f, select(large < 1e-30f, 0x1p60f, 1.0f));
  small = small * scale;
  large = large * scale;
  const float inverse = 1.0f / large, t = small * inverse, lacks = (small - t * large) * inverse, z = t * t;
  const float p = polynomial(z, -0.3333329909f, 0.199985482f, -0.1426424079f, 0.109521811f, -0.08403436648f,
                             0.0579573595f, -0.03117761297f, 0.01091448099f, -0.001793593885f);
  const float arc = t + (lacks + t * (z * p));
  const float right = select(steep, 1.57079637f - (arc + 4.37113883e-8f), arc);
  const float left =
      select(steep, 1.57079637f + (arc - 4.37113883e-8f), 3.14159274f - (arc + 8.74227766e-8f));
  const float value = select(std::bit_cast<int32_t>(x) < 0, left, right);
  return copy_sign(select((x == x) & (y == y), value, kNaN), y);
}

// The arc of a up to 1/2; beyond, that of sqrt((1 - a) / 2), which asin(a) is a quarter turn minus twice of. The root is
// taken in both cases, because one inside a select would become a branch; what it lacks is divided by a guess from its bits.
MT_INLINE PairOf<float> half_arc(float a) {
  const bool steep = a > 0.5f;
  const float z = select(steep, 0.5f - 0.5f * a, a * a), root = std::sqrt(z), t = select(steep, root, a);
  const float half_inverse = std::bit_cast<float>(0x5edf59dfu - (std::bit_cast<uint32_t>(z) >> 1));
  const float lacks = select(steep, (z - root * root) * half_inverse, 0.0f);
  const float p =
      polynomial(z, 0.166666597f, 0.0750052109f, 0.0445135869f, 0.0318369977f, 0.0143234357f, 0.0376842953f);
  return {t, lacks + t * (z * p)};
}
MT_INLINE float asin(float x) {
  const float a = abs(x);
  const bool steep = a > 0.5f;
  const PairOf<float> arc = half_arc(a);
  const float factor = select(steep, -2.0f, 1.0f);
  const PairOf<float> sum = added(select(steep, 1.57079637f, 0.0f), factor * arc.value);
  const float rest = (sum.lost + select(steep, -4.37113883e-8f, 0.0f)) + factor * arc.lost;
  return copy_sign(sum.value + rest, x);
}
MT_INLINE float acos(float x) {
  const float a = abs(x);
  const bool steep = a > 0.5f;
  const PairOf<float> arc = half_arc(a);
  const uint32_t sign = std::bit_cast<uint32_t>(x) & 0x80000000u;
  const float factor = std::bit_cast<float>(std::bit_cast<uint32_t>(select(steep, 2.0f, -1.0f)) ^ sign);
  const float base = 1.57079637f - select(steep, copy_sign(1.57079637f, x), 0.0f);  // 0, 1 or 2 quarters
  const PairOf<float> sum = added(base, factor * arc.value);
  return sum.value + ((sum.lost - base * 2.78275342e-8f) + factor * arc.lost);
}

// In double, whose range and digits squares of floats stay within.
MT_INLINE float hypot(float a, float b) {
  const double x = a, y = b;
  const float length = float(std::sqrt(x * x + y * y));
  return select((abs(a) == kInfinity) | (abs(b) == kInfinity), kInfinity, length);
}
// Inverse hyperbolic functions, in double for the digits that their arguments lose near 0 and 1.
MT_INLINE double sum_of(LogParts parts) { return parts.exponent * 0.6931471805599453 + parts.mantissa; }
// Powers of what is neither zero nor infinite, nor its exponent: exp(b log|a|) in double. A negative number has powers
// of whole exponents only, negative ones of odd exponents.
MT_INLINE bool has_usual_power(float a, float b) {
  return (a != 0.0f) & (abs(a) < kInfinity) & (abs(b) < kInfinity);
}
MT_INLINE float power_usual(float a, float b) {
  const double exponent = b, half = 0.5 * exponent;
  const float size = float(exp_in_double(exponent * sum_of(log_in_double(double(abs(a))))));
  const bool whole = std::trunc(exponent) == exponent, odd = std::trunc(half) != half;
  const float signed_size = select(whole, select(odd, -size, size), kNaN);
  return select(b == 0.0f, 1.0f, select(a < 0.0f, signed_size, size));
}
MT_INLINE float asinh(float x) {
  const double d = abs(x);
  const float value = float(sum_of(log_in_double(d + std::sqrt(d * d + 1.0))));
  return copy_sign(select(abs(x) < 1e-4f, abs(x), select(abs(x) < kInfinity, value, abs(x))), x);
}
MT_INLINE float acosh(float x) {
  const double d = x;
  const float value = float(sum_of(log_in_double(d + std::sqrt(d * d - 1.0))));
  return select(x >= 1.0f, select(x < kInfinity, value, x), kNaN);
}
MT_INLINE float atanh(float x) {
  const float a = abs(x);
  const double d = a;
  const float value = float(0.5 * sum_of(log_in_double((1.0 + d) / (1.0 - d))));
  const float at_edge = select(a == 1.0f, kInfinity, kNaN);
  return copy_sign(select(a < 1e-4f, a, select(a < 1.0f, value, at_edge)), x);
}

#undef MT_INLINE

}  // namespace mt::kernels::math

#include "kernels/common/vector_math_double.h"

#include "kernels/common/vector_error.h"
#endif  // MT_DEVICE_CODE

namespace mt::kernels::math {

#define MT_INLINE [[gnu::always_inline]] inline

// Library versions for the remaining types; overloads keep functors free of type tests.
template <class R> std::complex<R> exp(std::complex<R> x) { return std::exp(x); }
template <class R> std::complex<R> log(std::complex<R> x) { return std::log(x); }
template <class R> std::complex<R> atan(std::complex<R> x) { return std::atan(x); }
template <class R> std::complex<R> sinh(std::complex<R> x) { return std::sinh(x); }
template <class R> std::complex<R> cosh(std::complex<R> x) { return std::cosh(x); }
template <class R> std::complex<R> asin(std::complex<R> x) { return std::asin(x); }
template <class R> std::complex<R> acos(std::complex<R> x) { return std::acos(x); }
template <class R> std::complex<R> asinh(std::complex<R> x) { return std::asinh(x); }
template <class R> std::complex<R> acosh(std::complex<R> x) { return std::acosh(x); }
template <class R> std::complex<R> atanh(std::complex<R> x) { return std::atanh(x); }
template <class R> std::complex<R> exp2(std::complex<R> x) { return std::exp(x * R(0.6931471805599453)); }
template <class R> std::complex<R> log2(std::complex<R> x) { return std::log(x) / R(0.6931471805599453); }
template <class R> std::complex<R> log10(std::complex<R> x) { return std::log10(x); }
template <class R> std::complex<R> tanh(std::complex<R> x) { return std::tanh(x); }
template <class R> std::complex<R> sigmoid(std::complex<R> x) { return R(1) / (R(1) + std::exp(-x)); }
template <class R> std::complex<R> log1p(std::complex<R> x) {
  // log|1+x| from hypot would lose digits for small x; half of log1p(2a + a^2 + b^2) does not.
  const R a = x.real(), b = x.imag();
  return {R(0.5) * std::log1p(R(2) * a + a * a + b * b), std::atan2(b, R(1) + a)};
}
template <class R> std::complex<R> expm1(std::complex<R> x) {
  const R a = x.real(), b = x.imag(), half_sine = std::sin(b / 2);
  return {std::expm1(a) * std::cos(b) - R(2) * half_sine * half_sine, std::exp(a) * std::sin(b)};
}

#undef MT_INLINE

}  // namespace mt::kernels::math
