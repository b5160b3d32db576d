// The error function's family, included by vector_math.h. One fit, of exp(x^2) erfc(x) for x >= 0, carries most of it; T
// says how precise the result must be, the computation is in double. What is asked for most, erfc, ndtr and their inverses,
// has ways of its own for floats, in floats.
#pragma once

#include "base/special_fits.h"
#include "kernels/common/fit.h"
#include "kernels/common/vector_math_double.h"

namespace mt::kernels::math {

#define MT_INLINE [[gnu::always_inline]] inline

template <class T> MT_INLINE double exp_for(double x, double rest) {
  if constexpr (sizeof(T) == sizeof(double)) return exp_of_sum(x, rest);
  else return exp_in_double(x + rest);
}
// For positive normal numbers.
template <class T> MT_INLINE double log_for(double x) {
  if constexpr (sizeof(T) == sizeof(double)) return log_usual(x);
  else return sum_of(log_in_double(x));
}
// exp(sign x^2): the square of the upper half of the digits is exact, the rest of it small. That of a float is exact.
template <class T> MT_INLINE double exp_of_square(double x, double sign) {
  if constexpr (sizeof(T) < sizeof(double)) return exp_in_double(sign * (x * x));
  const double upper = upper_half(x);
  return exp_for<T>(sign * (upper * upper), sign * ((x - upper) * (x + upper)));
}
// exp(a^2) erfc(a) for 0 <= a, not infinite.
template <class T> MT_INLINE double scaled_tail(double a) {
  const double far = a + 4.0, near = 1.0 + 2.0 * a;
  if constexpr (sizeof(T) < sizeof(double)) {  // one division for both
    const double inverse = inverse_in_double(far * near);
    return fitted<T, coefficients::scaled_erfc>((a - 4.0) * near * inverse) * (far * inverse);
  }
  return fitted<T, coefficients::scaled_erfc>((a - 4.0) / far) / near;
}
// erf(x) - x for |x| <= 1, z = x^2.
MT_INLINE double rest_of_erf(double x, double z) {
  return x * polynomial(z, 0.12837916709551258, -0.37612638903183748, 0.11283791670954879,
                        -0.026866170645076793, 0.0052239776248180145, -0.00085483269808337899,
                        0.00012055331111642711, -1.4925595266831182e-5, 1.6461000484121368e-6,
                        -1.6350312701054695e-7, 1.4659775274047436e-8, -1.1372848856791674e-9,
                        5.9571761477489114e-11);
}
MT_INLINE double tail_or_rest(double x) {
  double a = abs(x);
  a = select(a > 28.0, 28.0, a);  // where it is 0
  const double tail = exp_of_square<double>(a, -1.0) * scaled_tail<double>(a);
  return select(x < 0.0, 2.0 - tail, tail);
}

// 1 / (upper + lower) as a sum, where `upper` has twelve digits and `lower` is less than its last place. `near` is close to
// it; what the upper half of that lacks is small, and its square is all that counts after it.
struct InverseParts {
  float upper, rest;
};
MT_INLINE InverseParts inverse_in_parts(float near, float upper, float lower) {
  const float i = upper_half(near), lacks = (1.0f - i * upper) - i * lower;
  return {i, i * (lacks + lacks * lacks)};
}

// Note [Tails in floats]
// A tail is exp(-s a^2) G / (a + k), where G is smooth in 1 / (a + k). Each of the three factors is a number of few digits,
// whose product with the others is exact, and a small rest; so the sum of products is rounded once where it counts, with
// fused products or without. G's number of few digits is `base`.
struct ErfcTail {
  static constexpr float s = 1.0f, k = 0.75f, base = 0.6875f, most = 10.25f;  // from there on it is 0
  // (a + k) exp(a^2) erfc(a) - base for v = 1 / (a + k)
  MT_INLINE static float rest(float v) {
    const float t = v - 0.625f;
    const float p = polynomial(t, -0.278519303f, 0.137395844f, 0.0456613898f, -0.149941936f, 0.147113875f,
                               -0.0674702823f, -0.0343397446f, 0.130619779f, -0.20268172f, 0.13848196f,
                               0.0940575451f, -0.216941848f, 0.0997976735f);
    return 0.0682224035f + t * (0.123781346f + t * p);
  }
};
struct NormalTail {
  static constexpr float s = 0.5f, k = 1.0625f, base = 0.46875f, most = 14.5f;
  // (a + k) exp(a^2 / 2) ndtr(-a) - base
  MT_INLINE static float rest(float v) {
    const float t = v - 0.4375f;
    const float p = polynomial(t, -0.39837572f, 0.271921486f, 0.144674018f, -0.62480706f, 0.849436641f,
                               -0.516493797f, -0.486308396f, 2.26445293f, -4.76674175f, 4.38109589f,
                               4.8817668f, -14.8765564f, 9.56399345f);
    return 0.0655437186f + t * (0.128307521f + t * p);
  }
};
template <class Tail> MT_INLINE float tail_at(float x) {
  float a = abs(x);
  a = select(a > Tail::most, Tail::most, a);
  // exp(-s a^2) = 2^n (e + e_rest), as in split_for_exp; e has eight digits.
  const float upper = upper_half(a), shifted = a * a * (-1.44269504f * Tail::s) + kRounder;
  const float n = shifted - kRounder, first = -(Tail::s * upper * upper) - n * 0.693359375f;
  const float more = sum_of_products(Tail::s * (upper - a), upper + a, n, 2.12194440e-4f), r = first + more;
  const float curve =
      (r * r) * polynomial(r, 0.49999994f, 0.166665167f, 0.041668281f, 0.00836924836f, 0.00138207828f);
  const float e = std::bit_cast<float>(std::bit_cast<uint32_t>(1.0f + r) & 0xffff0000u);
  const float e_rest = ((first - (e - 1.0f)) + more) + curve;
  const float sum = a + Tail::k, sum_upper = upper_half(sum);
  const InverseParts v = inverse_in_parts(1.0f / sum, sum_upper, (Tail::k - sum_upper) + a);
  const float whole = v.upper + v.rest, g = v.upper * Tail::base;
  const float g_rest = sum_of_products(whole, Tail::rest(whole), v.rest, Tail::base);
  const float value = e * g + sum_of_products(e, g_rest, e_rest, g + g_rest);
  // 2^(n + 64) is a normal number; what becomes subnormal is rounded once.
  const float power = std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + (191u << 23));
  return value * power * 0x1p-64f;
}
MT_INLINE float erfc(float x) {
  const float tail = tail_at<ErfcTail>(x);
  return select(x < 0.0f, 2.0f - tail, tail);
}
// Near zero 1 - erf(x), which has more digits there than the tail.
MT_INLINE double erfc(double x) {
  const Pair line = added(1.0, -x);
  const double near_zero = line.value + (line.lost - rest_of_erf(x, x * x));
  return select(abs(x) < 0.5, near_zero, tail_or_rest(x));
}
// Beyond 1 what exp(-x^2) P(x) is short of 1; less and less of it counts.
MT_INLINE double erf(double x) {
  const double a = abs(x), b = select(a > 5.95, 5.95, a);
  const double p =
      polynomial(b - 2.0, 0.25539567631050528, -0.10679646185349632, 0.041802752603567997,
                 -0.015460637763882092, 0.0054407385371595574, -0.0018316642813898133, 0.00059246999361681646,
                 -0.000184778336143226, 5.5728333940440779e-5, -1.6293806395079055e-5, 4.6281209611220491e-6,
                 -1.2793765901049291e-6, 3.4492516152276525e-7, -9.0893827062769121e-8, 2.3303287770579346e-8,
                 -5.7724215553816536e-9, 1.4435372163872138e-9, -3.872780388601817e-10,
                 9.5672872922031491e-11, -1.5801943794196359e-11, 1.171143145698243e-12);
  const double far = 1.0 - exp_of_moderate(-(b * b)) * p;
  return select(a < 1.0, x + rest_of_erf(x, x * x), copy_sign(select(x == x, far, x), x));
}
// exp(x^2) erfc(x)
template <class T> MT_INLINE double erfcx_for(double x) {
  const double a = abs(x), inside = select(a > 1e8, 1e8, a);
  const double tail = select(a > 1e8, 0.5641895835477563 / a, scaled_tail<T>(inside));
  const double grown = 2.0 * exp_of_square<T>(select(a > 30.0, 30.0, a), 1.0);
  return select(x < 0.0, grown - tail, tail);
}
// The normal distribution function. The exponential is that of x itself: in the tails, the last place of x / sqrt(2)
// would be thousands of the result.
inline constexpr double kRootHalf = 0.70710678118654752440;
template <class T> MT_INLINE double ndtr_for(double x) {
  if constexpr (sizeof(T) < sizeof(double)) {
    const float tail = tail_at<NormalTail>(float(x));
    return select(x < 0.0, tail, 1.0f - tail);
  }
  double a = abs(x);
  a = select(a > 39.0, 39.0, a);  // where it is 0
  const double tail = 0.5 * exp_of_square<T>(a, -0.5) * scaled_tail<T>(a * kRootHalf);
  return select(x < 0.0, tail, 1.0 - tail);
}
// Its logarithm: below zero of the scaled tail, above of 1 - the tail, with what that rounds off.
template <class T> MT_INLINE double log_ndtr_for(double x) {
  constexpr double far = sizeof(T) == sizeof(double) ? 1e150 : 1e15;  // only the square counts from there
  double a = abs(x);
  a = select(a > far, far, a);
  const double half = 0.5 * scaled_tail<T>(a * kRootHalf);
  const double tail = half * exp_of_square<T>(select(a > 39.0, 39.0, a), -0.5);
  const bool below = x < 0.0;
  const double m = select(below, half, 1.0 - tail), lost = select(below, 0.0, (1.0 - m) - tail);
  const double value = log_for<T>(m) + lost / m;
  return select(below, value - 0.5 * x * x, value);
}

// erfinv(x) / x is smooth in w = -log(1 - x^2). Up to w = 9 (all but 1 of 16,000 numbers between -1 and 1) one fit serves;
// loops do the rest apart.
inline constexpr double kUsualTail = 9.0;
MT_INLINE double inverse_erf_ratio(double w) {
  return fitted<double, coefficients::inverse_erf_low>(w * (2.0 / kUsualTail) - 1.0);
}
inline double inverse_erf_of_tail(double x, double w) {
  const double s = std::sqrt(w);
  constexpr double least = 1.0 / 28, most = 1.0 / 3;
  return x * s *
         fitted<double, coefficients::inverse_erf_high>((1.0 / s - least) * (2.0 / (most - least)) - 1.0);
}
// `argument` is the x of erfinv, `rest` its 1 - x^2: for the normal distribution, both come from a probability. Usual numbers
// have a w up to 9, floats up to 9.02. Of floats, the argument is an upper half and what that has too much.
inline constexpr double kUsualRest = 1.2340980408667956e-4;  // exp(-9)
struct InverseErf {
  static constexpr double scale = 1.0;
  MT_INLINE static double argument(double x) { return x; }
  MT_INLINE static double rest(double x) { return (1.0 - x) * (1.0 + x); }
  MT_INLINE static bool is_usual(double x) { return rest(x) >= kUsualRest; }
  static double at_edge(double x) { return x == 1 ? kInfinity64 : x == -1 ? -kInfinity64 : kNaN64; }

  static constexpr float base = 0.875f;
  MT_INLINE static float argument(float x) { return x; }
  MT_INLINE static float excess(float x, float upper) { return upper - x; }
  MT_INLINE static float rest(float x, float upper, float excess) {
    return (1.0f - upper * upper) + excess * (x + upper);
  }
  MT_INLINE static bool is_usual(float x) { return abs(x) <= 0.9999375f; }
};
struct InverseNormal {
  static constexpr double scale = 1.4142135623730951;
  MT_INLINE static double argument(double p) { return (p - 0.5) + (p - 0.5); }
  MT_INLINE static double rest(double p) { return 4.0 * p * (1.0 - p); }
  MT_INLINE static bool is_usual(double p) { return rest(p) >= kUsualRest; }
  static double at_edge(double p) { return p == 1 ? kInfinity64 : p == 0 ? -kInfinity64 : kNaN64; }

  static constexpr float base = 1.25f;
  MT_INLINE static float argument(float p) { return (p - 0.5f) + (p - 0.5f); }
  MT_INLINE static float excess(float p, float upper) { return (upper + 1.0f) - (p + p); }
  MT_INLINE static float rest(float p, float, float) { return 4.0f * p * (1.0f - p); }
  MT_INLINE static bool is_usual(float p) { return abs(p - 0.5f) <= 0.49997f; }
};
template <class Kind> MT_INLINE double inverse_of_usual(double x) {
  const double rest = Kind::rest(x), w = -log_usual(select(rest >= kUsualRest, rest, 1.0));
  return Kind::scale * (Kind::argument(x) * inverse_erf_ratio(w));
}
// The ratio is sqrt(pi) / 2 + w Q(w), and Q about a quarter: a number of twelve digits, whose product with the upper half of
// the argument is exact, and a small rest.
template <class Kind> MT_INLINE float inverse_of_usual(float x) {
  const float a = Kind::argument(x), upper = upper_half(a), excess = Kind::excess(x, upper);
  const Mantissa parts = split_usual(Kind::rest(x, upper, excess));
  const float whole = -0.693359375f * parts.e, part = rest_of_log(parts.f, parts.e, 0.0f), w = whole - part;
  constexpr float rounder = 0x1.8p15f;  // to multiples of 2^-8
  const float w_upper = (w + rounder) - rounder, w_rest = (whole - w_upper) - part;
  constexpr double s = Kind::scale;
  const float q = polynomial(w - 4.5f, float(0.241090164 * s - 0.25), float(-0.00445662485 * s),
                             float(-0.000646868197 * s), float(0.000142975638 * s), float(-1.34318343e-5 * s),
                             float(2.24724328e-8 * s), float(1.95716154e-7 * s), float(-3.00355048e-8 * s),
                             float(1.23061827e-9 * s), float(3.40601713e-10 * s), float(-5.32871872e-11 * s),
                             float(-3.04322377e-13 * s), float(3.719474e-13 * s));
  const float ratio = Kind::base + w_upper * 0.25f;
  const float rest = (float(0.88622692545275801 * s - Kind::base) + w_rest * 0.25f) + w * q;
  return upper * ratio + difference_of_products(a, rest, excess, ratio);
}
template <class Kind, class T> MT_INLINE void invert_all(T* out, const T* in, int64_t n) {
  constexpr int64_t together = 256;
  for (int64_t begin = 0; begin < n; begin += together) {
    const int64_t count = n - begin < together ? n - begin : together;
    T x[together];  // the result may be the operand
    uint32_t others = 0;
    for (int64_t i = 0; i < count; ++i) {
      x[i] = in[begin + i];
      others += uint32_t(!Kind::is_usual(x[i]));
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[begin + i] = inverse_of_usual<Kind>(x[i]);
    if (!others) continue;
    for (int64_t i = 0; i < count; ++i) {
      if (Kind::is_usual(x[i])) continue;
      const double d = x[i], rest = Kind::rest(d);
      out[begin + i] = T(rest > 0.0 ? Kind::scale * inverse_erf_of_tail(Kind::argument(d), -std::log(rest))
                                    : Kind::at_edge(d));
    }
  }
}

#undef MT_INLINE

}  // namespace mt::kernels::math
