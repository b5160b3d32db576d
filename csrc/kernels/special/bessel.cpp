#include <cmath>
#include <numbers>

#include "base/special_fits.h"
#include "kernels/common/vector_math.h"
#include "kernels/special/special.h"

namespace mt::kernels::special {
namespace {

using math::fitted;
using std::numbers::egamma;
using std::numbers::pi;

// For x up to 2, terms of the series below shrink at least like 1 / (k!)^2: beyond these, doubles do not show them.
constexpr int kTerms = 14;
// sum of (x²/4)^k / (k! (k + order)!), for small x.
template <int order>
double i_series(double x) {
  const double q = x * x / 4;
  double term = 1, sum = 1;
  for (int k = 1; k < kTerms; ++k) {
    term *= q * (1.0 / double(k * (k + order)));
    sum += term;
  }
  return sum;
}

struct Wave {
  double cosine, sine, turned_cosine, turned_sine, amplitude;
};

// Amplitude and phase of the Bessel functions above 8, see tools/fit_special_functions.py. The phase is a turned x, whose
// sine and cosine come from those of x itself: a difference would lose digits.
template <const auto& cosine, const auto& sine>
Wave wave(double x, int order) {
  const double u = 8 / x, t = 2 * u * u - 1;
  const double plus = std::sin(x) + std::cos(x), minus = std::sin(x) - std::cos(x);
  return {fitted<double, cosine>(t), u * fitted<double, sine>(t), order ? minus : plus, order ? -plus : minus,
          1 / std::sqrt(pi * x)};
}
Wave wave0(double x) { return wave<coefficients::bessel_0_cosine, coefficients::bessel_0_sine>(x, 0); }
Wave wave1(double x) { return wave<coefficients::bessel_1_cosine, coefficients::bessel_1_sine>(x, 1); }
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
  for (int k = 1; k < kTerms; ++k) {
    term *= q * (1.0 / double(k * k));
    harmonic += 1.0 / k;
    sum += term * harmonic;
  }
  return sum - (std::log(x / 2) + egamma) * i_series<0>(x);
}
double k1_series(double x) {
  const double q = x * x / 4;
  double term = 1, harmonic = 0, sum = 0;  // of (psi(k+1) + psi(k+2)) q^k / (k! (k+1)!)
  for (int k = 0; k < kTerms; ++k) {
    if (k) term *= q * (1.0 / double(k * (k + 1))), harmonic += 1.0 / k;
    sum += term * (2 * harmonic + 1.0 / (k + 1) - 2 * egamma);
  }
  return 1 / x + std::log(x / 2) * (x / 2) * i_series<1>(x) - x / 4 * sum;
}

template <const auto& high>
double scaled_k(double x, double (*series)(double)) {
  if (x == 0) return kInfinity;
  if (!(x > 0)) return kNan;
  return x <= 2 ? series(x) * std::exp(x) : fitted<double, high>(4 / x - 1) / std::sqrt(x);
}
template <const auto& high>
double plain_k(double x, double (*series)(double)) {
  if (x == 0) return kInfinity;
  if (!(x > 0)) return kNan;
  return x <= 2 ? series(x) : fitted<double, high>(4 / x - 1) / std::sqrt(x) * std::exp(-x);
}

}  // namespace

double bessel_j0(double x) {
  x = std::abs(x);
  if (x == kInfinity) return kNan;
  return x <= 8 ? fitted<double, coefficients::bessel_j0_low>(x * x / 32 - 1) : first_kind(wave0(x));
}
double bessel_j1(double x) {
  const double a = std::abs(x);
  if (a == kInfinity) return kNan;
  if (a <= 8) return x * fitted<double, coefficients::bessel_j1_low>(a * a / 32 - 1);
  return std::copysign(1.0, x) * first_kind(wave1(a));
}
double bessel_y0(double x) {
  if (x == 0) return -kInfinity;
  if (!(x > 0) || x == kInfinity) return kNan;
  if (x > 8) return second_kind(wave0(x));
  return fitted<double, coefficients::bessel_y0_low>(x * x / 32 - 1) + 2 / pi * std::log(x) * bessel_j0(x);
}
double bessel_y1(double x) {
  if (x == 0) return -kInfinity;
  if (!(x > 0) || x == kInfinity) return kNan;
  if (x > 8) return second_kind(wave1(x));
  return x * fitted<double, coefficients::bessel_y1_low>(x * x / 32 - 1) +
         2 / pi * (std::log(x) * bessel_j1(x) - 1 / x);
}

double bessel_k0(double x) { return plain_k<coefficients::bessel_k0_high>(x, k0_series); }
double bessel_k1(double x) { return plain_k<coefficients::bessel_k1_high>(x, k1_series); }
double scaled_bessel_k0(double x) { return scaled_k<coefficients::bessel_k0_high>(x, k0_series); }
double scaled_bessel_k1(double x) { return scaled_k<coefficients::bessel_k1_high>(x, k1_series); }

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
    return fitted<double, coefficients::airy_decay>(2 * start / zeta - 1) * std::exp(-zeta) /
           (2 * std::sqrt(pi) * root);
  }
  if (x < -4) {
    const double u = 16 / (3 * zeta), t = 2 * u * u - 1, angle = zeta + pi / 4;
    const double sine = fitted<double, coefficients::airy_sine>(t),
                 cosine = u * fitted<double, coefficients::airy_cosine>(t);
    return (sine * std::sin(angle) - cosine * std::cos(angle)) / (std::sqrt(pi) * root);
  }
  return fitted<double, coefficients::airy_middle>((x + 1) / 3);
}

}  // namespace mt::kernels::special
