// Orthogonal polynomials by their three-term recurrences; the Chebyshev ones by angles inside [-1, 1] once
// the degree makes that shorter.
#include <cmath>
#include <limits>

#include "kernels/special/special.h"

namespace mt::kernels::special {
namespace {

// The degree above which Hermite polynomials outgrow the type; PyTorch gives nan.
template <class T> constexpr int64_t kHermiteLimit = sizeof(T) == 8 ? 512 : 128;

// p(k+1) = next(k, p(k), p(k-1)), from p(0) = 1 and p(1) = first. Stops at nan, which stays.
template <class T, class Next>
T recurrence(T first, int64_t n, Next next) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  T before = 1, now = first;
  for (int64_t k = 1; k < n && !std::isnan(now); ++k) {
    const T after = next(T(k), now, before);
    before = now;
    now = after;
  }
  return now;
}

template <class T>
T doubling(T x, T first, int64_t n) {
  return recurrence(first, n, [x](T, T p, T q) { return (x + x) * p - q; });
}

template <class T>
bool by_angle(T x, int64_t n) {
  return n > 8 && std::abs(x) < 1;
}
template <class T>
T alternating(int64_t n) {
  return n % 2 ? T(-1) : T(1);
}
template <class T>
bool at_end(T x, int64_t n) {
  return n >= 0 && std::abs(x) == 1;
}

}  // namespace

template <class T>
T chebyshev_t(T x, int64_t n) {
  if (at_end(x, n)) return x > 0 ? T(1) : alternating<T>(n);
  return by_angle(x, n) ? std::cos(T(n) * std::acos(x)) : doubling(x, x, n);
}

template <class T>
T chebyshev_u(T x, int64_t n) {
  if (at_end(x, n)) return (x > 0 ? T(1) : alternating<T>(n)) * (T(n) + 1);
  if (!by_angle(x, n)) return doubling<T>(x, x + x, n);
  const T angle = std::acos(x), sine = std::sin(angle);
  return sine != 0 ? std::sin((T(n) + 1) * angle) / sine : (T(n) + 1) * std::cos((T(n) + 1) * angle) / x;
}

template <class T>
T chebyshev_v(T x, int64_t n) {
  if (at_end(x, n)) return x > 0 ? T(1) : alternating<T>(n) * (2 * T(n) + 1);
  if (!by_angle(x, n)) return doubling<T>(x, x + x - 1, n);
  const T angle = std::acos(x);
  return std::cos((T(n) + T(0.5)) * angle) / std::cos(angle / 2);
}

template <class T>
T chebyshev_w(T x, int64_t n) {
  if (at_end(x, n)) return x > 0 ? 2 * T(n) + 1 : alternating<T>(n);
  if (!by_angle(x, n)) return doubling<T>(x, x + x + 1, n);
  const T angle = std::acos(x);
  return std::sin((T(n) + T(0.5)) * angle) / std::sin(angle / 2);
}

template <class T>
T hermite_h(T x, int64_t n) {
  if (n > kHermiteLimit<T>) return std::numeric_limits<T>::quiet_NaN();
  return recurrence<T>(x + x, n, [x](T k, T p, T q) { return (x + x) * p - (k + k) * q; });
}

template <class T>
T hermite_he(T x, int64_t n) {
  if (n > kHermiteLimit<T>) return std::numeric_limits<T>::quiet_NaN();
  return recurrence<T>(x, n, [x](T k, T p, T q) { return x * p - k * q; });
}

template <class T>
T laguerre_l(T x, int64_t n) {
  if (n >= 0 && x == 0) return 1;
  return recurrence<T>(1 - x, n, [x](T k, T p, T q) { return ((k + k + (1 - x)) * p - k * q) / (k + 1); });
}

template <class T>
T legendre_p(T x, int64_t n) {
  if (at_end(x, n)) return x > 0 ? T(1) : alternating<T>(n);
  return recurrence<T>(x, n, [x](T k, T p, T q) { return ((k + k + 1) * x * p - k * q) / (k + 1); });
}

#define MT_POLYNOMIALS(T)                \
  template T chebyshev_t<T>(T, int64_t); \
  template T chebyshev_u<T>(T, int64_t); \
  template T chebyshev_v<T>(T, int64_t); \
  template T chebyshev_w<T>(T, int64_t); \
  template T hermite_h<T>(T, int64_t);   \
  template T hermite_he<T>(T, int64_t);  \
  template T laguerre_l<T>(T, int64_t);  \
  template T legendre_p<T>(T, int64_t);
MT_POLYNOMIALS(float)
MT_POLYNOMIALS(double)
#undef MT_POLYNOMIALS

}  // namespace mt::kernels::special
