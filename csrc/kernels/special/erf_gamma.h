// The gamma function's logarithm with its derivatives. Everything computes in double; float callers round the result.
#pragma once

#include <cmath>
#include <limits>

#include "base/special_fits.h"
#include "kernels/common/vector_math.h"

namespace mt::kernels::math {

inline constexpr double kPi = 3.14159265358979323846;

// The C library's lgamma writes the sign to a global variable; this one does not.
inline double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}
#ifdef MT_DEVICE_CODE
inline double log_gamma_above_zero(double x) { return log_gamma(x); }
inline float log_gamma(float x) { return float(log_gamma(double(x))); }
template <class T> inline bool has_usual_log_gamma(T) { return false; }
template <class T> inline T log_gamma_usual(T x) { return log_gamma(x); }
#else
// For loops of floats. A fit without the zeros at 1 and 2 below 3, Stirling's formula with a fit for the rest above;
// below 1 that of x + 1, less log(x).
[[gnu::always_inline]] inline double log_gamma_above_zero(double x) {
  const bool small = x < 1.0, low = x < 3.0;
  const double z = select(small, x + 1.0, select(low, x, 1.5)), far = select(low, 4.0, x);
  const double fit = (z - 1.0) * (z - 2.0) * fitted<double, coefficients::log_gamma_low>(z - 2.0);
  const double inverse = 1.0 / far, log = log_usual(select(low, select(small, x, 1.0), x));
  const double rest = inverse * fitted<double, coefficients::log_gamma_high>(inverse * inverse * 18.0 - 1.0);
  return select(low, fit - log, (far - 0.5) * log - far + (0.91893853320467274178 + rest));
}
[[gnu::always_inline]] inline bool has_usual_log_gamma(float x) {
  return (x > 0.0f) & (x < std::numeric_limits<float>::infinity());
}
[[gnu::always_inline]] inline bool has_usual_log_gamma(double) { return false; }
[[gnu::always_inline]] inline float log_gamma_usual(float x) {
  return float(log_gamma_above_zero(double(x)));
}
inline double log_gamma_usual(double x) { return log_gamma(x); }
// Below 1/2 the reflection log(pi / |sin(pi x)|) - log_gamma(1 - x). In double, because the two cancel.
[[gnu::always_inline]] inline float log_gamma(float x) {
  constexpr double rounder = 6755399441055744.0, infinity = std::numeric_limits<double>::infinity();
  const double d = x;
  const bool reflected = d < 0.5;
  const double value = log_gamma_above_zero(select(d < infinity, select(reflected, 1.0 - d, d), 1.0));
  const double part = select(reflected, d - ((d + rounder) - rounder), 0.5);
  const double sine = std::fabs(sin_usual(kPi * part));
  const bool whole = sine == 0.0;
  const double beside = log_usual(kPi / select(whole, 1.0, sine));
  double result = select(whole, infinity, select(reflected, beside - value, value));
  result = select(d < -8388608.0, infinity, result);
  return float(select(d < infinity, result, d));
}
#endif

// The derivative of log_gamma: the asymptotic series from 10 on, reached by psi(x) = psi(x + 1) - 1/x; below zero
// the reflection psi(1 - x) - psi(x) = pi / tan(pi x).
inline double digamma(double x) {
  if (x == 0.0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  double reflected = 0.0;
  if (x < 0.0) {
    const double rest = x - std::trunc(x);
    if (!(rest < 0.0)) return std::nan("");  // whole numbers and -infinity
    reflected = -kPi / std::tan(kPi * rest);
    x = 1.0 - x;
  }
  double steps = 0.0;
  for (; x < 10.0; x += 1.0) steps -= 1.0 / x;
  if (std::isinf(x)) return x;
  const double z = 1.0 / (x * x);
  double series = 1.0 / 12;
  series = 691.0 / 32760 - z * series;
  series = 1.0 / 132 - z * series;
  series = 1.0 / 240 - z * series;
  series = 1.0 / 252 - z * series;
  series = 1.0 / 120 - z * series;
  series = 1.0 / 12 - z * series;
  return reflected + steps + std::log(x) - 0.5 / x - z * series;
}

// Its derivative in the same way: psi'(x) = psi'(x + 1) + 1/x^2, and psi'(1 - x) + psi'(x) = (pi / sin(pi x))^2. Without
// branches, so that loops become vectors.
[[gnu::always_inline]] inline double trigamma(double x) {
  const bool below = x < 0.5;
  const double rest = select(below, x - std::trunc(x), 0.5), sine = sin_usual(kPi * rest);
  const double reflected = select(below, kPi * kPi / (sine * sine), 0.0);
  double at = select(below, 1.0 - x, x), steps = 0.0;
  for (int i = 0; i < 10; ++i) {
    const bool more = at < 10.0;
    steps += select(more, 1.0 / (at * at), 0.0);
    at = select(more, at + 1.0, at);
  }
  const double z = 1.0 / (at * at);
  double series = 7.0 / 6;
  series = 691.0 / 2730 - z * series;
  series = 5.0 / 66 - z * series;
  series = 1.0 / 30 - z * series;
  series = 1.0 / 42 - z * series;
  series = 1.0 / 30 - z * series;
  series = 1.0 / 6 - z * series;
  const double value = steps + 1.0 / at + 0.5 * z + z * series / at;
  return select(below, reflected - value, value);
}

}  // namespace mt::kernels::math
