// The gamma function's logarithm with its derivatives. Everything computes in double; float callers round the result.
#pragma once

#include <cmath>
#include <limits>

namespace mt::kernels::math {

inline constexpr double kPi = 3.14159265358979323846;

// The C library's lgamma writes the sign to a global variable; this one does not.
inline double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

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

// Its derivative in the same way: psi'(x) = psi'(x + 1) + 1/x^2, and psi'(1 - x) + psi'(x) = (pi / sin(pi x))^2.
inline double trigamma(double x) {
  double sign = 1.0, reflected = 0.0;
  if (x < 0.5) {
    const double rest = x - std::trunc(x);
    const double sine = std::sin(kPi * rest);
    sign = -1.0;
    reflected = kPi * kPi / (sine * sine);
    x = 1.0 - x;
  }
  double steps = 0.0;
  for (; x < 10.0; x += 1.0) steps += 1.0 / (x * x);
  const double z = 1.0 / (x * x);
  double series = 7.0 / 6;
  series = 691.0 / 2730 - z * series;
  series = 5.0 / 66 - z * series;
  series = 1.0 / 30 - z * series;
  series = 1.0 / 42 - z * series;
  series = 1.0 / 30 - z * series;
  series = 1.0 / 6 - z * series;
  return reflected + sign * (steps + 1.0 / x + 0.5 * z + z * series / x);
}

}  // namespace mt::kernels::math
