// How much work an element of a function is: dear functions are worth several threads earlier.
#pragma once

#include "kernels/common/parallel.h"
#include "kernels/elementwise/functors.h"

namespace mt::kernels {

template <class Op, class... List> inline constexpr bool is_one_of = (std::is_same_v<Op, List> || ...);

// How many sums take as long, to a power of four.
template <class Op>
constexpr int cost_of() {
  if constexpr (is_one_of<Op, igamma_op, igammac_op, igamma_slope_op, zeta_op, polygamma_op>) {
    return 256;
  } else if constexpr (is_one_of<Op, i0_op, i0e_op, i1_op, i1e_op, ndtr_op, ndtri_op, log_ndtr_op, erfcx_op,
                                 airy_ai_op, bessel_j0_op, bessel_j1_op, bessel_y0_op, bessel_y1_op,
                                 modified_bessel_i0_op, modified_bessel_i1_op, modified_bessel_k0_op,
                                 modified_bessel_k1_op, scaled_modified_bessel_k0_op,
                                 scaled_modified_bessel_k1_op, lgamma_op, digamma_op, trigamma_op, xlog1py_op,
                                 gcd_op, lcm_op, chebyshev_polynomial_t_op, chebyshev_polynomial_u_op,
                                 chebyshev_polynomial_v_op, chebyshev_polynomial_w_op,
                                 shifted_chebyshev_polynomial_t_op, shifted_chebyshev_polynomial_u_op,
                                 shifted_chebyshev_polynomial_v_op, shifted_chebyshev_polynomial_w_op,
                                 laguerre_polynomial_l_op, legendre_polynomial_p_op, hermite_polynomial_h_op,
                                 hermite_polynomial_he_op>) {
    return 64;
  } else if constexpr (is_one_of<Op, tan_op, acos_op, asin_op, atan_op, sinh_op, cosh_op, asinh_op, acosh_op,
                                 atanh_op, erfc_op, erfinv_op, pow_op, pow_scalar_op, atan2_op, logaddexp_op,
                                 logaddexp2_op, mish_op, mish_backward_op, sinc_op, spherical_bessel_j0_op>) {
    return 16;
  } else if constexpr (is_one_of<Op, exp_op, exp2_op, expm1_op, log_op, log2_op, log10_op, log1p_op, sin_op,
                                 cos_op, tanh_op, sigmoid_op, erf_op, logit_op, xlogy_op, hypot_op, entr_op,
                                 angle_op, sgn_op, remainder_op, fmod_op, floor_divide_op, silu_op,
                                 log_sigmoid_op, gelu_op, gelu_tanh_op, elu_op, softplus_op, swish_op, glu_op,
                                 swiglu_op, geglu_op, geglu_tanh_op, clipped_swiglu_op, silu_backward_op,
                                 gelu_backward_op, gelu_tanh_backward_op, elu_backward_op,
                                 log_sigmoid_backward_op, swish_backward_op, softplus_backward_op,
                                 glu_value_backward_op, glu_gate_backward_op, swiglu_gate_backward_op,
                                 swiglu_value_backward_op, geglu_gate_backward_op,
                                 geglu_tanh_gate_backward_op>) {
    return 4;
  } else {
    return 1;
  }
}

// How many elements are worth a thread. Functions of complex numbers are several of real ones each, and not in vectors.
constexpr int64_t grain_for(int cost) { return std::max<int64_t>(kGrain / cost, 128); }
constexpr int64_t complex_grain_for(int cost) { return grain_for(cost > 1 ? 16 * cost : cost); }

}  // namespace mt::kernels
