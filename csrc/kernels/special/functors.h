// Special functions as functors: the functions of special.h, which compute in double.
// Included by elementwise/functors.h.
#pragma once

#include "kernels/elementwise/functors.h"
#include "kernels/special/modified_bessel.h"
#include "kernels/special/special.h"

namespace mt::kernels {

namespace special {

// What a sum of 1 may leave out for a result of T.
template <class T> inline constexpr double kSmallest = sizeof(T) == sizeof(double) ? 1e-17 : 1e-10;
// A degree that arrives as an element: its whole part; what is no such number has no polynomial (negative: 0).
inline int64_t degree(double n) { return n > -1 && n < 0x1p63 ? int64_t(n) : -1; }

}  // namespace special

#define MT_SPECIAL(NAME, DOMAIN, FUNCTION) MT_UNARY(NAME, DOMAIN, special::FUNCTION(double(x)))
#define MT_POLYNOMIAL(NAME, FUNCTION) \
  MT_BINARY(NAME, single_double, special::FUNCTION(a, special::degree(double(b))))
#define MT_SHIFTED_POLYNOMIAL(NAME, FUNCTION) \
  MT_BINARY(NAME, single_double, special::FUNCTION(T(a + a - T(1)), special::degree(double(b))))

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
MT_SPECIAL(bessel_j0_op, single_double, bessel_j0)
MT_SPECIAL(bessel_j1_op, single_double, bessel_j1)
MT_SPECIAL(bessel_y0_op, single_double, bessel_y0)
MT_SPECIAL(bessel_y1_op, single_double, bessel_y1)
MT_SPECIAL(modified_bessel_i0_op, single_double, i0<T>)
MT_SPECIAL(modified_bessel_i1_op, single_double, i1<T>)
MT_SPECIAL(modified_bessel_k0_op, single_double, bessel_k0)
MT_SPECIAL(modified_bessel_k1_op, single_double, bessel_k1)
MT_SPECIAL(scaled_modified_bessel_k0_op, single_double, scaled_bessel_k0)
MT_SPECIAL(scaled_modified_bessel_k1_op, single_double, scaled_bessel_k1)
MT_SPECIAL(spherical_bessel_j0_op, single_double, spherical_bessel_j0)
MT_UNARY_PARAMS(polygamma_op, 1, floating, special::polygamma(int64_t(double(p[0])), double(x)))

MT_BINARY(xlog1py_op, floating, special::xlog1py(double(a), double(b)))
MT_BINARY(zeta_op, single_double, special::zeta(double(a), double(b)))
MT_BINARY(igamma_op, floating, special::igamma(double(a), double(b), special::kSmallest<T>))
MT_BINARY(igammac_op, floating, special::igammac(double(a), double(b), special::kSmallest<T>))
MT_BINARY(igamma_slope_op, floating, special::igamma_slope(double(a), double(b)))

MT_POLYNOMIAL(chebyshev_polynomial_t_op, chebyshev_t)
MT_POLYNOMIAL(chebyshev_polynomial_u_op, chebyshev_u)
MT_POLYNOMIAL(chebyshev_polynomial_v_op, chebyshev_v)
MT_POLYNOMIAL(chebyshev_polynomial_w_op, chebyshev_w)
MT_SHIFTED_POLYNOMIAL(shifted_chebyshev_polynomial_t_op, chebyshev_t)
MT_SHIFTED_POLYNOMIAL(shifted_chebyshev_polynomial_u_op, chebyshev_u)
MT_SHIFTED_POLYNOMIAL(shifted_chebyshev_polynomial_v_op, chebyshev_v)
MT_SHIFTED_POLYNOMIAL(shifted_chebyshev_polynomial_w_op, chebyshev_w)
MT_POLYNOMIAL(laguerre_polynomial_l_op, laguerre_l)
MT_POLYNOMIAL(legendre_polynomial_p_op, legendre_p)
MT_POLYNOMIAL(hermite_polynomial_h_op, hermite_h)
MT_POLYNOMIAL(hermite_polynomial_he_op, hermite_he)

#undef MT_SPECIAL
#undef MT_POLYNOMIAL
#undef MT_SHIFTED_POLYNOMIAL

}  // namespace mt::kernels
