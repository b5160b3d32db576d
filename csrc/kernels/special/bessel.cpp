#include <cmath>
#include <numbers>

#include "base/special_fits.h"
#include "kernels/special/fit.h"
#include "kernels/special/special.h"

namespace mt::kernels::special {
namespace {

using std::numbers::egamma;
using std::numbers::pi;

// sum of (x²/4)^k / (k! (k + order)!), for small x.
double i_series(double x, int order) {
  const double q = x * x / 4;
  double term = 1, sum = 1;
  for (int k = 1; k < 200 && term > sum * 1e-17; ++k) {
    term *= q / (double(k) * (k + order));
    sum += term;
  }
  return sum;
}

struct Wave {
  double cosine, sine, turned_cosine, turned_sine, amplitude;
};

// Amplitude and phase of the Bessel functions above 8, see tools/fit_special_functions.py. The phase is a turned x, whose
// sine and cosine come from those of x itself: a difference would lose digits.
template <size_t C, size_t S>
Wave wave(double x, int order, const double (&cosine)[C], const double (&sine)[S]) {
  const double u = 8 / x, t = 2 * u * u - 1;
  const double plus = std::sin(x) + std::cos(x), minus = std::sin(x) - std::cos(x);
  return {fitted(cosine, t), u * fitted(sine, t), order ? minus : plus, order ? -plus : minus,
          1 / std::sqrt(pi * x)};
}
Wave wave0(double x) { return wave(x, 0, coefficients::bessel_0_cosine, coefficients::bessel_0_sine); }
Wave wave1(double x) { return wave(x, 1, coefficients::bessel_1_cosine, coefficients::bessel_1_sine); }
double first_kind(const Wave& w) {
  return w.amplitude * (w.cosine * w.turned_cosine - w.sine * w.turned_sine);
}
double second_kind(const Wave& w) {
  return w.amplitude * (w.cosine * w.turned_sine + w.sine * w.turned_cosine);
}

// K for 0 < x <= 2, from the logarithmic series.
double k0_series(double x) {
  const double q = x * x / 4;
  double term = 1, harmonic = 0, sum = 0;
  for (int k = 1; k < 30; ++k) {
    term *= q / (double(k) * k);
    harmonic += 1.0 / k;
    sum += term * harmonic;
  }
  return sum - (std::log(x / 2) + egamma) * i_series(x, 0);
}
double k1_series(double x) {
  const double q = x * x / 4;
  double term = 1, harmonic = 0, sum = 0;  // of (psi(k+1) + psi(k+2)) q^k / (k! (k+1)!)
  for (int k = 0; k < 30; ++k) {
    if (k) term *= q / (double(k) * (k + 1)), harmonic += 1.0 / k;
    sum += term * (2 * harmonic + 1.0 / (k + 1) - 2 * egamma);
  }
  return 1 / x + std::log(x / 2) * (x / 2) * i_series(x, 1) - x / 4 * sum;
}

template <size_t N>
double scaled_k(double x, double (*series)(double), const double (&high)[N]) {
  if (x == 0) return kInfinity;
  if (!(x > 0)) return kNan;
  return x <= 2 ? series(x) * std::exp(x) : fitted(high, 4 / x - 1) / std::sqrt(x);
}
template <size_t N>
double plain_k(double x, double (*series)(double), const double (&high)[N]) {
  if (x == 0) return kInfinity;
  if (!(x > 0)) return kNan;
  return x <= 2 ? series(x) : fitted(high, 4 / x - 1) / std::sqrt(x) * std::exp(-x);
}

// exp(x) times `scaled` without overflow before its time.
double grown(double x, double scaled) {
  const double half = std::exp(x / 2);
  return half * scaled * half;
}

}  // namespace

double i0e(double x) {
  x = std::abs(x);
  if (x == 0) return 1;
  return x <= 8 ? fitted(coefficients::bessel_i0_low, x / 4 - 1)
                : fitted(coefficients::bessel_i0_high, 16 / x - 1) / std::sqrt(x);
}
double i1e(double x) {
  const double a = std::abs(x);
  if (a <= 8) return x * fitted(coefficients::bessel_i1_low, a / 4 - 1);
  return std::copysign(fitted(coefficients::bessel_i1_high, 16 / a - 1) / std::sqrt(a), x);
}
// At infinity these are nan, as in PyTorch.
double i0(double x) { return std::isinf(x) ? kNan : grown(std::abs(x), i0e(x)); }
double i1(double x) { return std::isinf(x) ? kNan : grown(std::abs(x), i1e(x)); }

double bessel_j0(double x) {
  x = std::abs(x);
  if (x == kInfinity) return kNan;
  return x <= 8 ? fitted(coefficients::bessel_j0_low, x * x / 32 - 1) : first_kind(wave0(x));
}
double bessel_j1(double x) {
  const double a = std::abs(x);
  if (a == kInfinity) return kNan;
  if (a <= 8) return x * fitted(coefficients::bessel_j1_low, a * a / 32 - 1);
  return std::copysign(1.0, x) * first_kind(wave1(a));
}
double bessel_y0(double x) {
  if (x == 0) return -kInfinity;
  if (!(x > 0) || x == kInfinity) return kNan;
  if (x > 8) return second_kind(wave0(x));
  return fitted(coefficients::bessel_y0_low, x * x / 32 - 1) + 2 / pi * std::log(x) * bessel_j0(x);
}
double bessel_y1(double x) {
  if (x == 0) return -kInfinity;
  if (!(x > 0) || x == kInfinity) return kNan;
  if (x > 8) return second_kind(wave1(x));
  return x * fitted(coefficients::bessel_y1_low, x * x / 32 - 1) +
         2 / pi * (std::log(x) * bessel_j1(x) - 1 / x);
}

double bessel_k0(double x) { return plain_k(x, k0_series, coefficients::bessel_k0_high); }
double bessel_k1(double x) { return plain_k(x, k1_series, coefficients::bessel_k1_high); }
double scaled_bessel_k0(double x) { return scaled_k(x, k0_series, coefficients::bessel_k0_high); }
double scaled_bessel_k1(double x) { return scaled_k(x, k1_series, coefficients::bessel_k1_high); }

double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  if (std::abs(x) < 1e-4) return 1 - x * x / 6;
  return std::sin(x) / x;
}

double airy_ai(double x) {
  if (!std::isfinite(x)) return kNan;
  const double zeta = 2 * std::abs(x) * std::sqrt(std::abs(x)) / 3, root = std::sqrt(std::sqrt(std::abs(x)));
  if (x > 2) {
    constexpr double start = 1.8856180831641267;  // zeta at 2
    return fitted(coefficients::airy_decay, 2 * start / zeta - 1) * std::exp(-zeta) /
           (2 * std::sqrt(pi) * root);
  }
  if (x < -4) {
    const double u = 16 / (3 * zeta), t = 2 * u * u - 1, angle = zeta + pi / 4;
    const double sine = fitted(coefficients::airy_sine, t), cosine = u * fitted(coefficients::airy_cosine, t);
    return (sine * std::sin(angle) - cosine * std::cos(angle)) / (std::sqrt(pi) * root);
  }
  return fitted(coefficients::airy_middle, (x + 1) / 3);
}

}  // namespace mt::kernels::special
