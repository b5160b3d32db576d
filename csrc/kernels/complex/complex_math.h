// Parts, conjugates and phases; one spelling for real and complex types.
#pragma once

#include <numbers>

#include "kernels/common/arithmetic.h"

namespace mt::kernels::math {

#define MT_INLINE [[gnu::always_inline]] inline

template <class T> MT_INLINE T conjugate(T x) {
  if constexpr (is_complex_v<T>) return T(x.real(), -x.imag());
  else return x;
}
// Without a branch between the parts, for loops that count.
template <class T> MT_INLINE bool differ(T a, T b) {
  if constexpr (is_complex_v<T>) return (a.real() != b.real()) | (a.imag() != b.imag());
  else return !(a == b);
}
template <class T> MT_INLINE bool is_real(T x) {
  if constexpr (is_complex_v<T>) return x.imag() == 0;
  else return true;
}
// x / |x|; zero has no direction.
template <class T> MT_INLINE T phase(T x) {
  if constexpr (is_complex_v<T>) {
    const auto size = hypot(x.real(), x.imag()), divisor = select(size == 0, decltype(size)(1), size);
    return T(x.real() / divisor, x.imag() / divisor);
  } else {
    return sign(x);
  }
}
// The angle as a number of x's own type: a complex one with no imaginary part.
template <class T> MT_INLINE T angle(T x) {
  if constexpr (is_complex_v<T>) return T(atan2(x.imag(), x.real()), 0);
  else return select(is_nan(x), x, select(x < T(0), std::numbers::pi_v<T>, T(0)));
}
// As that of reals; the larger one has the larger real part.
template <class R> std::complex<R> log_add_exp(std::complex<R> a, std::complex<R> b) {
  constexpr R nan = std::numeric_limits<R>::quiet_NaN();
  if (is_nan(a) || is_nan(b)) return {nan, nan};
  if (a.real() == b.real() && is_inf(a.real()))
    return a.real() < 0 ? b : math::log(math::exp(a) + math::exp(b));
  const bool ordered = a.real() < b.real();
  const std::complex<R> large = ordered ? b : a, small = ordered ? a : b;
  return large + math::log1p(math::exp(small - large));
}

#undef MT_INLINE

}  // namespace mt::kernels::math
