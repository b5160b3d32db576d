// Special functions as functors: the functions of special.h, which compute in double.
// Included by elementwise/functors.h.
#pragma once

#include <cmath>
#include <numbers>

#include "base/special_fits.h"
#include "kernels/elementwise/functors.h"
#include "kernels/special/modified_bessel.h"
#include "kernels/special/special.h"

namespace mt::kernels {

namespace special {

// What a sum of 1 may leave out for a result of T.
template <class T> inline constexpr double kSmallest = sizeof(T) == sizeof(double) ? 1e-17 : 1e-10;
// A degree that arrives as an element: its whole part; what is no such number has no polynomial (negative: 0).
inline int64_t degree(double n) { return n > -1 && n < 0x1p63 ? int64_t(n) : -1; }

// Degrees up to which a polynomial is computed without asking where to stop, so that loops of them are loops of vectors.
inline constexpr int kShortDegree = 8;
template <class T> [[gnu::always_inline]] inline bool is_short(T, T n) { return n < T(kShortDegree + 1); }
template <class Terms, class T> [[gnu::always_inline]] inline T short_recurrence(T x, T n) {
  T before = T(1), now = Terms::first(x), found = math::select(n < T(1), before, now);
#pragma GCC unroll 8
  for (int k = 1; k < kShortDegree; ++k) {
    const T after = Terms::next(x, T(k), now, before);
    before = now;
    now = after;
    found = math::select(n < T(k + 1), found, now);
  }
  return math::select(n > T(-1), found, T(0));
}

// sin(x) / x, where sines are those of vectors.
template <class T> [[gnu::always_inline]] inline T spherical_bessel_j0_usual(T x) {
  const T none = math::select(x == T(0), T(1), T(0));
  return none + math::sin_usual(x) / (x + none);
}

// The functions of bessel.cpp up to 8, with logarithms of vectors.
template <class T> [[gnu::always_inline]] inline bool has_usual_bessel_y(T x) {
  return math::has_usual_log(x) & (x <= T(8));
}
template <const auto& fit, class T> [[gnu::always_inline]] inline double bessel_low(T x) {
  return math::fitted<double, fit>(double(x) * double(x) / 32 - 1);
}
[[gnu::always_inline]] inline double bessel_y0_usual(double x) {
  return bessel_low<coefficients::bessel_y0_low>(x) +
         2 / std::numbers::pi * math::log_usual(x) * bessel_low<coefficients::bessel_j0_low>(x);
}
[[gnu::always_inline]] inline double bessel_y1_usual(double x) {
  return x * bessel_low<coefficients::bessel_y1_low>(x) +
         2 / std::numbers::pi *
             (math::log_usual(x) * (x * bessel_low<coefficients::bessel_j1_low>(x)) - 1 / x);
}

}  // namespace special

#define MT_SPECIAL(NAME, DOMAIN, FUNCTION) MT_UNARY(NAME, DOMAIN, special::FUNCTION(double(x)))
// X is the argument x, FIRST p(1), and what follows p(k + 1) made of x, k, p = p(k) and q = p(k - 1). FUNCTION computes
// the same and finds another way for high degrees.
#define MT_POLYNOMIAL(NAME, FUNCTION, X, FIRST, ...)                                          \
  struct NAME##_terms {                                                                       \
    template <class T> [[gnu::always_inline]] static inline T first(T x) { return T(FIRST); } \
    template <class T>                                                                        \
    [[gnu::always_inline]] static inline T next(T x, [[maybe_unused]] T k, T p, T q) {        \
      return T(__VA_ARGS__);                                                                  \
    }                                                                                         \
  };                                                                                          \
  MT_BINARY_USUAL(NAME, single_double, special::is_short(a, b),                               \
                  special::short_recurrence<NAME##_terms>(T(X), b),                           \
                  special::FUNCTION(T(X), special::degree(double(b))))

MT_SPECIAL(i0_op, floating, i0<T>)
MT_SPECIAL(i0e_op, floating, i0e<T>)
MT_SPECIAL(i1_op, floating, i1<T>)
MT_SPECIAL(i1e_op, floating, i1e<T>)
MT_UNARY(entr_op, floating, math::entropy(x))
MT_UNARY(ndtr_op, floating, math::ndtr_for<T>(double(x)))
struct ndtri_op {
  MT_FUNCTOR_HEAD(ndtri_op, 0, single_double)
  template <class T>
  [[gnu::always_inline]] static inline void run(T* out, const T* x, int64_t n, const T*) {
    math::invert_all<math::InverseNormal>(out, x, n);
  }
  template <class T>
  static T apply(T x, const T* p) {
    run(&x, &x, 1, p);
    return x;
  }
};
MT_UNARY(log_ndtr_op, single_double, math::log_ndtr_for<T>(double(x)))
MT_UNARY(erfcx_op, single_double, math::erfcx_for<T>(double(x)))
MT_SPECIAL(airy_ai_op, single_double, airy_ai)
MT_UNARY_USUAL(bessel_j0_op, single_double, math::abs(x) <= T(8),
               T(special::bessel_low<coefficients::bessel_j0_low>(x)), special::bessel_j0(double(x)))
MT_UNARY_USUAL(bessel_j1_op, single_double, math::abs(x) <= T(8),
               T(double(x) * special::bessel_low<coefficients::bessel_j1_low>(x)),
               special::bessel_j1(double(x)))
MT_UNARY_USUAL(bessel_y0_op, single_double, special::has_usual_bessel_y(x),
               T(special::bessel_y0_usual(double(x))), special::bessel_y0(double(x)))
MT_UNARY_USUAL(bessel_y1_op, single_double, special::has_usual_bessel_y(x),
               T(special::bessel_y1_usual(double(x))), special::bessel_y1(double(x)))
MT_SPECIAL(modified_bessel_i0_op, single_double, i0<T>)
MT_SPECIAL(modified_bessel_i1_op, single_double, i1<T>)
MT_SPECIAL(modified_bessel_k0_op, single_double, bessel_k0)
MT_SPECIAL(modified_bessel_k1_op, single_double, bessel_k1)
MT_SPECIAL(scaled_modified_bessel_k0_op, single_double, scaled_bessel_k0)
MT_SPECIAL(scaled_modified_bessel_k1_op, single_double, scaled_bessel_k1)
MT_UNARY_USUAL(spherical_bessel_j0_op, single_double, math::abs(x) < T(3e3),
               special::spherical_bessel_j0_usual(x), special::spherical_bessel_j0(double(x)))
MT_UNARY_PARAMS(polygamma_op, 1, floating, special::polygamma(int64_t(double(p[0])), double(x)))

MT_BINARY(xlog1py_op, floating, special::xlog1py(double(a), double(b)))
MT_BINARY(zeta_op, single_double, special::zeta(double(a), double(b)))
MT_BINARY(igamma_op, floating, special::igamma(double(a), double(b), special::kSmallest<T>))
MT_BINARY(igammac_op, floating, special::igammac(double(a), double(b), special::kSmallest<T>))
MT_BINARY(igamma_slope_op, floating, special::igamma_slope(double(a), double(b)))

MT_POLYNOMIAL(chebyshev_polynomial_t_op, chebyshev_t, a, x, (x + x) * p - q)
MT_POLYNOMIAL(chebyshev_polynomial_u_op, chebyshev_u, a, x + x, (x + x) * p - q)
MT_POLYNOMIAL(chebyshev_polynomial_v_op, chebyshev_v, a, x + x - T(1), (x + x) * p - q)
MT_POLYNOMIAL(chebyshev_polynomial_w_op, chebyshev_w, a, x + x + T(1), (x + x) * p - q)
MT_POLYNOMIAL(shifted_chebyshev_polynomial_t_op, chebyshev_t, a + a - T(1), x, (x + x) * p - q)
MT_POLYNOMIAL(shifted_chebyshev_polynomial_u_op, chebyshev_u, a + a - T(1), x + x, (x + x) * p - q)
MT_POLYNOMIAL(shifted_chebyshev_polynomial_v_op, chebyshev_v, a + a - T(1), x + x - T(1), (x + x) * p - q)
MT_POLYNOMIAL(shifted_chebyshev_polynomial_w_op, chebyshev_w, a + a - T(1), x + x + T(1), (x + x) * p - q)
MT_POLYNOMIAL(laguerre_polynomial_l_op, laguerre_l, a, T(1) - x,
              math::difference_of_products(k + k + (T(1) - x), p, k, q) / (k + T(1)))
MT_POLYNOMIAL(legendre_polynomial_p_op, legendre_p, a, x,
              math::difference_of_products((k + k + T(1)) * x, p, k, q) / (k + T(1)))
MT_POLYNOMIAL(hermite_polynomial_h_op, hermite_h, a, x + x, math::difference_of_products(x + x, p, k + k, q))
MT_POLYNOMIAL(hermite_polynomial_he_op, hermite_he, a, x, math::difference_of_products(x, p, k, q))

#undef MT_SPECIAL
#undef MT_POLYNOMIAL

}  // namespace mt::kernels
