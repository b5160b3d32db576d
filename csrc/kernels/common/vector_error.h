// The error function's family, included by vector_math.h. One fit, of exp(x^2) erfc(x) for x >= 0, carries most of it; T
// says how precise the result must be, the computation is in double.
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
template <class T> MT_INLINE double erfc_for(double x) {
  double a = abs(x);
  a = select(a > 28.0, 28.0, a);  // where it is 0
  const double tail = exp_of_square<T>(a, -1.0) * scaled_tail<T>(a);
  return select(x < 0.0, 2.0 - tail, tail);
}
MT_INLINE float erfc(float x) { return float(erfc_for<float>(x)); }
// Near zero 1 - erf(x), which has more digits there than the tail.
MT_INLINE double erfc(double x) {
  const Pair line = added(1.0, -x);
  const double near_zero = line.value + (line.lost - rest_of_erf(x, x * x));
  return select(abs(x) < 0.5, near_zero, erfc_for<double>(x));
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
template <class T> MT_INLINE double inverse_erf_ratio(double w) {
  return fitted<T, coefficients::inverse_erf_low>(w * (2.0 / kUsualTail) - 1.0);
}
inline double inverse_erf_of_tail(double x, double w) {
  const double s = std::sqrt(w);
  constexpr double least = 1.0 / 28, most = 1.0 / 3;
  return x * s *
         fitted<double, coefficients::inverse_erf_high>((1.0 / s - least) * (2.0 / (most - least)) - 1.0);
}
// `argument` is the x of erfinv, `rest` its 1 - x^2: for the normal distribution, both come from a probability.
struct InverseErf {
  static constexpr double scale = 1.0;
  MT_INLINE static double argument(double x) { return x; }
  MT_INLINE static double rest(double x) { return (1.0 - x) * (1.0 + x); }
  static double at_edge(double x) { return x == 1 ? kInfinity64 : x == -1 ? -kInfinity64 : kNaN64; }
};
struct InverseNormal {
  static constexpr double scale = 1.4142135623730951;
  MT_INLINE static double argument(double p) { return (p - 0.5) + (p - 0.5); }
  MT_INLINE static double rest(double p) { return 4.0 * p * (1.0 - p); }
  static double at_edge(double p) { return p == 1 ? kInfinity64 : p == 0 ? -kInfinity64 : kNaN64; }
};
template <class Kind, class T> MT_INLINE void invert_all(T* out, const T* in, int64_t n) {
  constexpr double least = 1.2340980408667956e-4;  // exp(-9)
  constexpr int64_t together = 256;
  for (int64_t begin = 0; begin < n; begin += together) {
    const int64_t count = n - begin < together ? n - begin : together;
    T x[together];  // the result may be the operand
    uint64_t others = 0;
    for (int64_t i = 0; i < count; ++i) {
      x[i] = in[begin + i];
      others += uint64_t(!(Kind::rest(double(x[i])) >= least));
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const double d = x[i], rest = Kind::rest(d), w = -log_for<T>(select(rest >= least, rest, 1.0));
      out[begin + i] = T(Kind::scale * (Kind::argument(d) * inverse_erf_ratio<T>(w)));
    }
    if (!others) continue;
    for (int64_t i = 0; i < count; ++i) {
      const double d = x[i], rest = Kind::rest(d);
      if (rest >= least) continue;
      out[begin + i] = T(rest > 0.0 ? Kind::scale * inverse_erf_of_tail(Kind::argument(d), -std::log(rest))
                                    : Kind::at_edge(d));
    }
  }
}

#undef MT_INLINE

}  // namespace mt::kernels::math
