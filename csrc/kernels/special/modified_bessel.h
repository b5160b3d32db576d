// The modified Bessel functions of the first kind, without branches. T says how precise the result must be; they compute
// in double.
#pragma once

#include "base/special_fits.h"
#include "kernels/common/vector_math.h"

namespace mt::kernels::special {

#define MT_INLINE [[gnu::always_inline]] inline

// exp(-|x|) i0(x): one fit up to 8, one of its product with sqrt(|x|) beyond.
template <class T> MT_INLINE double i0e(double x) {
  const double a = math::abs(x);
  const bool low = a <= 8.0;
  const double value = math::fitted_by<T, coefficients::bessel_i0_low, coefficients::bessel_i0_high>(
      low, math::select(low, 0.25 * a, 16.0 / a) - 1.0);
  return math::select(a == 0.0, 1.0, math::select(low, value, value / std::sqrt(a)));
}
template <class T> MT_INLINE double i1e(double x) {
  const double a = math::abs(x);
  const bool low = a <= 8.0;
  const double value = math::fitted_by<T, coefficients::bessel_i1_low, coefficients::bessel_i1_high>(
      low, math::select(low, 0.25 * a, 16.0 / a) - 1.0);
  return math::copy_sign(math::select(low, a * value, value / std::sqrt(a)), x);
}
// exp(|x|) times `scaled` without overflow before its time; at infinity it is NaN, as in PyTorch.
template <class T> MT_INLINE double grown(double x, double scaled) {
  const double a = math::abs(x), half = math::exp(0.5 * a);
  return math::select(a == math::kInfinity64, math::kNaN64, half * scaled * half);
}
template <class T> MT_INLINE double i0(double x) { return grown<T>(x, i0e<T>(x)); }
template <class T> MT_INLINE double i1(double x) { return grown<T>(x, i1e<T>(x)); }

#undef MT_INLINE

}  // namespace mt::kernels::special
