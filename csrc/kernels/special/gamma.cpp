#include <cmath>
#include <numbers>

#include "kernels/special/erf_gamma.h"
#include "kernels/special/special.h"

namespace mt::kernels::special {
namespace {

using std::numbers::pi;
constexpr double kEpsilon = 1e-17;

// B(2j) / (2j)!, the weights of Euler and Maclaurin's formula.
constexpr double kWeights[] = {1.0 / 12,
                               -1.0 / 720,
                               1.0 / 30240,
                               -1.0 / 1209600,
                               1.0 / 47900160,
                               -691.0 / 1307674368000.0,
                               1.0 / 74724249600.0,
                               -3617.0 / 10670622842880000.0,
                               43867.0 / 5109094217170944000.0,
                               -174611.0 / 802857662698291200000.0};

// zeta for x > 1 and q > 0: a few terms, then the integral of the rest with its corrections.
double zeta_positive(double x, double q) {
  double sum = 0, a = q;
  for (; a < 12 + x / 2; a += 1) {  // the corrections shrink only where a is well above x
    const double term = std::pow(a, -x);
    sum += term;
    if (term <= kEpsilon * sum) return sum;
  }
  const double power = std::pow(a, -x);
  sum += power * a / (x - 1) + power / 2;
  double factor = x * power / a;
  for (int j = 0; j < 10; ++j) {
    const double term = kWeights[j] * factor;
    sum += term;
    if (std::abs(term) < kEpsilon * std::abs(sum)) break;
    factor *= (x + 2 * j + 1) * (x + 2 * j + 2) / (a * a);
  }
  return sum;
}

// log(1 + m) - m without cancellation.
double log1p_minus(double m) {
  if (std::abs(m) > 0.4) return std::log1p(m) - m;
  const double r = m / (2 + m), square = r * r;  // log(1 + m) = 2 atanh(r)
  double power = r * square, sum = 0;
  for (int k = 3; k < 60 && std::abs(power) > 1e-19 * std::abs(square); k += 2, power *= square)
    sum += power / k;
  return 2 * (sum - square / (1 - r));
}

// lgamma(a) - (a - 1/2) log(a) + a - log(2 pi)/2, for a >= 10.
double stirling_rest(double a) {
  const double s = 1 / (a * a);
  return (1.0 / 12 -
          s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s * (1.0 / 1188 - s * 691.0 / 360360))))) /
         a;
}

// x^a exp(-x) / gamma(a); for large a in a form that keeps the digits the separate powers would lose.
double weight(double a, double x) {
  if (a < 10) return std::exp(a * std::log(x) - x - math::log_gamma_above_zero(a));
  const double m = (x - a) / a;
  return std::sqrt(a / (2 * pi)) * std::exp(a * log1p_minus(m) - stirling_rest(a));
}

// The lower function from its power series; good for x up to about a.
double lower_series(double a, double x, double smallest) {
  double term = 1 / a, sum = term;
  for (int k = 1; k < 100000 && term > smallest * sum; ++k) {
    term *= x / (a + k);
    sum += term;
  }
  return weight(a, x) * sum;
}

// The upper function from its continued fraction; good for x above a + 1. Numerators and denominators follow a recurrence
// without divisions, which would wait for one another.
double upper_fraction(double a, double x, double smallest) {
  constexpr double large = 1e150;
  const double factor = weight(a, x);
  if (factor == 0) return 0;  // as it is before x is so large that a product overflows
  double b = x + 1 - a, above = 1, below = b, above_before = 0, below_before = 1;
  for (int k = 1; k < 100000; ++k) {
    const double step = -k * (k - a);
    b += 2;
    const double next_above = b * above + step * above_before, next_below = b * below + step * below_before;
    above_before = above, below_before = below, above = next_above, below = next_below;
    // Two fractions that follow each other, both times both denominators.
    const double last = above_before * below;
    if (std::abs(above * below_before - last) < 10 * smallest * std::abs(last)) break;
    if (std::abs(below) > large) above /= large, below /= large, above_before /= large, below_before /= large;
  }
  return factor * (above / below);
}

// The upper function for small a and x <= 1: 1 - lower would cancel.
double upper_small(double a, double x) {
  // 1 - x^a / gamma(a + 1), then the rest of the series of the lower function.
  double term = 1, sum = 0;
  for (int k = 1; k < 200; ++k) {
    term *= -x / k;
    const double next = term / (a + k);
    sum += next;
    if (std::abs(next) < kEpsilon * std::abs(sum)) break;
  }
  const double log_power = a * std::log(x) - math::log_gamma_above_zero(1 + a);
  return -std::expm1(log_power) - a * std::exp(log_power) * sum;
}

// For very large a, where the series would need thousands of terms: the normal distribution and Temme's first
// correction.
bool near_peak(double a, double x) { return a > 1e6 && std::abs(x - a) < 0.3 * a; }
double upper_near_peak(double a, double x) {
  const double m = (x - a) / a, half_square = -log1p_minus(m);
  const double eta = std::copysign(std::sqrt(2 * half_square), m);
  const double first = std::abs(eta) < 1e-3 ? -1.0 / 3 + eta / 12 - 2 * eta * eta / 135 : 1 / m - 1 / eta;
  return 0.5 * std::erfc(eta * std::sqrt(a / 2)) + std::exp(-a * half_square) / std::sqrt(2 * pi * a) * first;
}

// Arguments at the edges of the domain; true with the lower function in `value`.
bool at_edge(double a, double x, double& value) {
  if (a < 0 || x < 0) value = kNan;
  else if (a == 0) value = x > 0 ? 1 : kNan;
  else if (x == 0) value = 0;
  else if (std::isinf(a)) value = std::isinf(x) ? kNan : 0;
  else if (std::isinf(x)) value = 1;
  else if (std::isnan(a) || std::isnan(x)) value = kNan;
  else return false;
  return true;
}

}  // namespace

double zeta(double x, double q) {
  if (x == 1) return kInfinity;
  if (x < 1 || std::isnan(q)) return kNan;
  if (q <= 0 && q == std::floor(q)) return kInfinity;
  if (std::isnan(x) || q == kInfinity) return kNan;
  if (std::isinf(x)) return q == 1 ? 1 : q > 0 && q < 1 ? kInfinity : kNan;
  if (q > 0) return zeta_positive(x, q);
  if (x != std::floor(x)) return kNan;
  // Terms with a negative base, taken from the other end: their distances from zero are f, f + 1, … -q.
  const double f = -q - std::floor(-q);
  const double negative = zeta_positive(x, f) - zeta_positive(x, 1 - q);
  return zeta_positive(x, 1 - f) + (std::fmod(x, 2) == 0 ? negative : -negative);
}

double polygamma(int64_t n, double x) {
  if (n == 1 && std::isinf(x)) return x > 0 ? 0 : kNan;
  const double sum = zeta(double(n) + 1, x) * std::tgamma(double(n) + 1);
  return n % 2 ? sum : -sum;
}

double igamma(double a, double x, double smallest) {
  double value;
  if (at_edge(a, x, value)) return value;
  if (near_peak(a, x)) return 1 - upper_near_peak(a, x);
  return x <= a + 1 ? lower_series(a, x, smallest) : 1 - upper_fraction(a, x, smallest);
}

double igammac(double a, double x, double smallest) {
  double value;
  if (at_edge(a, x, value)) return 1 - value;
  if (near_peak(a, x)) return upper_near_peak(a, x);
  if (x <= 1 && a < 1) return upper_small(a, x);
  return x <= a + 1 ? 1 - lower_series(a, x, smallest) : upper_fraction(a, x, smallest);
}

double igamma_slope(double a, double x) {
  if (x == 0) return a > 1 ? 0 : a == 1 ? 1 : kInfinity;
  return weight(a, x) / x;
}

}  // namespace mt::kernels::special
