#include <cmath>
#include <numbers>

#include "base/special_fits.h"
#include "kernels/special/fit.h"
#include "kernels/special/special.h"

namespace mt::kernels::special {
namespace {

using std::numbers::pi;
constexpr double kRootHalf = 0.70710678118654752440;

// The point below which a share p < 0.5 of the normal distribution lies, as a distance from the middle: a
// classic rational guess (Hastings), good to three digits.
double guessed_quantile(double p) {
  const double t = std::sqrt(-2 * std::log(p));
  return t -
         (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

}  // namespace

double erfcx(double x) {
  if (std::isnan(x)) return x;
  if (x < 0) return x < -27 ? kInfinity : 2 * std::exp(x * x) - erfcx(-x);
  if (x > 1e8) return 1 / (std::sqrt(pi) * x);
  return fitted(coefficients::scaled_erfc, (x - 4) / (x + 4)) / (1 + 2 * x);
}

double ndtr(double x) { return 0.5 * std::erfc(-x * kRootHalf); }

double log_ndtr(double x) {
  if (x < -1) return std::log(erfcx(-x * kRootHalf) / 2) - x * x / 2;
  return std::log1p(-std::erfc(x * kRootHalf) / 2);
}

// Halley's method from the guess; each step triples the digits.
double ndtri(double p) {
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (!(p > 0 && p < 1)) return kNan;
  if (p > 0.5) return -ndtri(1 - p);
  const double log_p = std::log(p);
  double x = -guessed_quantile(p);
  for (int step = 0; step < 3; ++step) {
    // (Phi(x) - p) / phi(x); in the tail through erfcx, which does not underflow.
    const double error = p > 0.1 ? ((0.5 - p) + 0.5 * std::erf(x * kRootHalf)) * std::exp(x * x / 2)
                                 : 0.5 * erfcx(-x * kRootHalf) - std::exp(x * x / 2 + log_p);
    const double e = error * std::sqrt(2 * pi);
    x -= e / (1 + x * e / 2);
  }
  return x;
}

double entr(double x) {
  if (std::isnan(x)) return x;
  return x > 0 ? -x * std::log(x) : x == 0 ? 0.0 : -kInfinity;
}

double xlog1py(double x, double y) {
  if (std::isnan(y)) return y;
  return x == 0 ? 0.0 : x * std::log1p(y);
}

}  // namespace mt::kernels::special
