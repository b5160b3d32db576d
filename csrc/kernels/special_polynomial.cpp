// Orthogonal polynomials by their three-term recurrences; the Chebyshev ones by angles inside [-1, 1] once
// the degree makes that shorter.
#include <cmath>
#include <limits>

#include "kernels/special.h"

namespace mt::kernels::special {
namespace {

constexpr int64_t kByAngle = 8;

// p(k+1) = next(k, p(k), p(k-1)), from p(0) = 1 and p(1) = first. Stops at nan, which stays.
template <class Next>
double recurrence(double first, int64_t n, Next next) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  double before = 1, now = first;
  for (int64_t k = 1; k < n && !std::isnan(now); ++k) {
    const double after = next(k, now, before);
    before = now;
    now = after;
  }
  return now;
}

double doubling(double x, double first, int64_t n) {
  return recurrence(first, n, [x](int64_t, double p, double q) { return 2 * x * p - q; });
}

bool by_angle(double x, int64_t n) { return n > kByAngle && std::abs(x) < 1; }
double alternating(int64_t n) { return n % 2 ? -1.0 : 1.0; }

}  // namespace

double chebyshev_t(double x, int64_t n) {
  if (n >= 0 && std::abs(x) == 1) return x > 0 ? 1.0 : alternating(n);
  return by_angle(x, n) ? std::cos(double(n) * std::acos(x)) : doubling(x, x, n);
}
double chebyshev_u(double x, int64_t n) {
  if (n >= 0 && std::abs(x) == 1) return (x > 0 ? 1.0 : alternating(n)) * (double(n) + 1);
  if (!by_angle(x, n)) return doubling(x, 2 * x, n);
  const double angle = std::acos(x);
  return std::sin((double(n) + 1) * angle) / std::sin(angle);
}
double chebyshev_v(double x, int64_t n) {
  if (n >= 0 && std::abs(x) == 1) return x > 0 ? 1.0 : alternating(n) * (2 * double(n) + 1);
  if (!by_angle(x, n)) return doubling(x, 2 * x - 1, n);
  const double half = std::acos(x) / 2;
  return std::cos((2 * double(n) + 1) * half) / std::cos(half);
}
double chebyshev_w(double x, int64_t n) {
  if (n >= 0 && std::abs(x) == 1) return x > 0 ? (2 * double(n) + 1) : alternating(n);
  if (!by_angle(x, n)) return doubling(x, 2 * x + 1, n);
  const double half = std::acos(x) / 2;
  return std::sin((2 * double(n) + 1) * half) / std::sin(half);
}

double hermite_h(double x, int64_t n, int64_t limit) {
  if (n > limit) return std::numeric_limits<double>::quiet_NaN();
  return recurrence(2 * x, n, [x](int64_t k, double p, double q) { return 2 * (x * p - double(k) * q); });
}
double hermite_he(double x, int64_t n, int64_t limit) {
  if (n > limit) return std::numeric_limits<double>::quiet_NaN();
  return recurrence(x, n, [x](int64_t k, double p, double q) { return x * p - double(k) * q; });
}
double laguerre_l(double x, int64_t n) {
  if (n >= 0 && x == 0) return 1;
  return recurrence(1 - x, n, [x](int64_t k, double p, double q) {
    return (((2 * double(k) + 1) - x) * p - double(k) * q) / (double(k) + 1);
  });
}
double legendre_p(double x, int64_t n) {
  if (n >= 0 && std::abs(x) == 1) return x > 0 ? 1.0 : alternating(n);
  return recurrence(x, n, [x](int64_t k, double p, double q) {
    return ((2 * double(k) + 1) * x * p - double(k) * q) / (double(k) + 1);
  });
}

}  // namespace mt::kernels::special
