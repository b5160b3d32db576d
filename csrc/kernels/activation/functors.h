// Activations and their derivatives, one line each. Included by elementwise/functors.h, which explains the notation;
// in the derivatives a is the gradient and b the saved input.
#pragma once

#include "kernels/elementwise/functors.h"

namespace mt::kernels {

namespace math {

#define MT_INLINE [[gnu::always_inline]] inline

// The normal distribution: x times its cumulative function is gelu.
MT_INLINE double normal_cumulative(double x) { return 0.5 * (1.0 + erf(x * 0.70710678118654752)); }
// The smaller half is exp of a polynomial in |x|, which keeps the digits that 1 + erf(x) loses below zero. It is 0 from
// 5.7 on, where what is left out is less than 6e-9.
MT_INLINE float normal_cumulative(float x) {
  const float a = abs(x), t = select(a > 5.7f, 5.7f, a);
  const float q = polynomial(t, -0.6931471825f, -0.7978857756f, -0.3182972670f, -3.638317809e-2f,
                             4.868022166e-3f, -4.525457916e-5f, -1.71287611e-4f, 4.629874456e-5f,
                             -6.438100627e-6f, 4.861991556e-7f, -1.573191177e-8f);
  const float half = select(a > 5.7f, 0.0f, exp_of_moderate(q));
  return select(x < 0.0f, half, 1.0f - half);
}
template <class T> MT_INLINE T normal_density(T x) {
  return T(0.39894228040143268) * exp_below(T(-0.5) * x * x);
}
// What tanh is taken of in the approximation of gelu, and its slope.
template <class T> MT_INLINE T gelu_inner(T x) {
  return T(0.79788456080286536) * (x + T(0.044715) * x * x * x);
}
template <class T> MT_INLINE T gelu_inner_slope(T x) {
  return T(0.79788456080286536) * (T(1) + T(3 * 0.044715) * x * x);
}
// (1 + tanh(u)) / 2 is the sigmoid of 2u, which keeps its digits below zero.
template <class T> MT_INLINE T gelu_tanh(T x) { return x * sigmoid(T(2) * gelu_inner(x)); }
template <class T> MT_INLINE T gelu_tanh_slope(T x) {
  const T t = tanh(gelu_inner(x));
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * gelu_inner_slope(x);
}
template <class T> MT_INLINE T silu_slope(T x) {
  const T s = sigmoid(x);
  return mul(s, T(1) + mul(x, T(1) - s));
}
// tanh(log(1 + e^x)) is n / (n + 2) with n = e^x (e^x + 2); beyond 20 it is 1.
template <class T> MT_INLINE T mish(T x) {
  const T e = exp(x), n = e * (e + T(2));
  return select(x > T(20), x, x * (n / (n + T(2))));
}
template <class T> MT_INLINE T mish_slope(T x) {
  const T e = exp(x), n = e * (e + T(2)), t = n / (n + T(2));
  const T slope = t + x * (e / (e + T(1))) * (T(1) - t * t);
  return select(x > T(20), T(1), slope);
}
template <class T> MT_INLINE T softplus(T x, T beta, T threshold) {
  const T scaled = x * beta;
  const T curved = log1p(exp(scaled)) / beta;
  return select(scaled > threshold, x, curved);
}
template <class T> MT_INLINE T log_sigmoid(T x) {
  return select(x < T(0), x, T(0)) - log1p(exp(-absolute(x)));
}
// What logit passes on: nothing where it clamps its argument, and where it does not, NaN outside [0, 1].
template <class T> MT_INLINE T logit_slope(T x, T eps) {
  const bool none = eps < T(0);
  const T low = select(none, T(0), eps), outside = select(none, std::numeric_limits<T>::quiet_NaN(), T(0));
  return select((x < low) | (x > T(1) - low), outside, T(1) / (x * (T(1) - x)));
}
// Nothing within the threshold, the number moved towards zero beyond.
template <class T> MT_INLINE T shrink(T x, T threshold, T step) {
  return select(x > threshold, x - step, select(x < -threshold, x + step, select(is_nan(x), x, T(0))));
}
template <class T> MT_INLINE T swish_slope(T x, T beta) {
  const T s = sigmoid(beta * x);
  return s * (T(1) + beta * x * (T(1) - s));
}
template <class T> MT_INLINE T elu(T x, T alpha, T scale, T input_scale) {
  const T below = expm1(x * input_scale) * (alpha * scale);
  return select(x > T(0), x * scale, below);
}
// `b` is the result where p[3] says so: then the slope is read off it.
template <class T> MT_INLINE T elu_slope(T b, const T* p) {
  const T of_result = p[2] * (b + p[0] * p[1]);
  const T of_input = p[2] * p[0] * p[1] * exp(b * p[2]);
  return select(b <= T(0), select(p[3] != T(0), of_result, of_input), p[1]);
}

template <class T> MT_INLINE T clipped_swiglu(T gate, T value, const T* p) {
  const T x = clamp_max(gate, p[1]), y = clamp_max(clamp_min(value, -p[1]), p[1]);
  return x * sigmoid(p[0] * x) * (y + p[2]);
}

#undef MT_INLINE

}  // namespace math

MT_UNARY(relu6_op, real, math::clamp_max(math::clamp_min(x, T(0)), T(6)))
MT_UNARY(silu_op, inexact, math::mul(x, math::sigmoid(x)))
MT_UNARY(mish_op, floating, math::mish(x))
MT_UNARY(hardswish_op, floating, x*(math::clamp_max(math::clamp_min(x + T(3), T(0)), T(6)) * T(1.0 / 6)))
MT_UNARY(hardsigmoid_op, floating, math::clamp_max(math::clamp_min(x + T(3), T(0)), T(6)) * T(1.0 / 6))
MT_UNARY(log_sigmoid_op, floating, math::log_sigmoid(x))
MT_UNARY(gelu_op, floating, x* math::normal_cumulative(x))
MT_UNARY(gelu_tanh_op, floating, math::gelu_tanh(x))
MT_UNARY_PARAMS(leaky_relu_op, 1, floating, math::select(x > T(0), x, T(x* p[0])))
MT_UNARY_PARAMS(elu_op, 3, floating, math::elu(x, p[0], p[1], p[2]))
MT_UNARY_PARAMS(hardshrink_op, 1, floating, math::select((x >= -p[0]) & (x <= p[0]), T(0), x))
MT_UNARY_PARAMS(softshrink_op, 1, floating, math::shrink(x, p[0], p[0]))
MT_UNARY_PARAMS(softplus_op, 2, floating, math::softplus(x, p[0], p[1]))
MT_UNARY_PARAMS(threshold_op, 2, real, math::select(x <= p[0], p[1], x))
MT_UNARY_PARAMS(swish_op, 1, floating, x* math::sigmoid(p[0] * x))
MT_UNARY_PARAMS(shrink_op, 2, floating, math::shrink(x, p[0], p[1]))
MT_UNARY(softsign_op, floating, x / (T(1) + math::absolute(x)))
MT_UNARY(squared_relu_op, floating, math::select(x < T(0), T(0), T(x* x)))
MT_BINARY(prelu_op, floating, math::select(a > T(0), a, T(a* b)))
// Two halves of a tensor, one of which opens or closes the other.
MT_BINARY(glu_op, floating, a* math::sigmoid(b))
MT_BINARY(swiglu_op, floating, a* math::sigmoid(a) * b)
MT_BINARY(geglu_op, floating, a * b * math::normal_cumulative(b))
MT_BINARY(geglu_tanh_op, floating, a* math::gelu_tanh(b))
// p: the slope of the gate, the limit of both halves (the gate's upper one only), and what is added to the value.
MT_BINARY_PARAMS(clipped_swiglu_op, 3, floating, math::clipped_swiglu(a, b, p))
MT_BINARY_PARAMS(fatrelu_mul_op, 1, floating, math::select(a > p[0], T(a* b), T(0)))

MT_BINARY(silu_backward_op, inexact, math::mul(a, math::silu_slope(b)))
MT_BINARY(mish_backward_op, floating, a* math::mish_slope(b))
MT_BINARY(gelu_backward_op, floating, a*(math::normal_cumulative(b) + b * math::normal_density(b)))
MT_BINARY(gelu_tanh_backward_op, floating, a* math::gelu_tanh_slope(b))
MT_BINARY(hardsigmoid_backward_op, floating, math::select((b > T(-3)) & (b < T(3)), T(a* T(1.0 / 6)), T(0)))
MT_BINARY(hardswish_backward_op, floating,
          math::select(b <= T(-3), T(0), math::select(b < T(3), T(a*(b* T(1.0 / 3) + T(0.5))), a)))
MT_BINARY_PARAMS(leaky_relu_backward_op, 1, floating, math::select(b > T(0), a, T(a* p[0])))
MT_BINARY_PARAMS(elu_backward_op, 4, floating, a* math::elu_slope(b, p))
MT_BINARY_PARAMS(hardtanh_backward_op, 2, real, math::select((b <= p[0]) | (b >= p[1]), T(0), a))
MT_BINARY_PARAMS(shrink_backward_op, 1, floating, math::select((b >= -p[0]) & (b <= p[0]), T(0), a))
MT_BINARY(log_sigmoid_backward_op, floating, a* math::sigmoid(-b))
MT_BINARY(softsign_backward_op, floating, a / ((T(1) + math::absolute(b)) * (T(1) + math::absolute(b))))
MT_BINARY_PARAMS(swish_backward_op, 1, floating, a* math::swish_slope(b, p[0]))
MT_BINARY_PARAMS(logit_backward_op, 1, floating, a* math::logit_slope(b, p[0]))
MT_BINARY(prelu_weight_backward_op, floating, math::select(b > T(0), T(0), T(a* b)))
MT_BINARY_PARAMS(softplus_backward_op, 2, floating,
                 math::select(b* p[0] > p[1], a, T(a* math::sigmoid(b* p[0]))))

// Derivatives with respect to one of two operands b and c; a is the gradient.
MT_TERNARY(prelu_backward_op, 0, floating, math::select(b > T(0), a, T(a* c)))
MT_TERNARY(glu_value_backward_op, 0, floating, a* math::sigmoid(c))
MT_TERNARY(glu_gate_backward_op, 0, floating, a * b * math::sigmoid(c) * (T(1) - math::sigmoid(c)))
MT_TERNARY(swiglu_gate_backward_op, 0, floating, a * c * math::silu_slope(b))
MT_TERNARY(swiglu_value_backward_op, 0, floating, a * b * math::sigmoid(b))
MT_TERNARY(geglu_gate_backward_op, 0, floating,
           a * b * (math::normal_cumulative(c) + c * math::normal_density(c)))
MT_TERNARY(geglu_tanh_gate_backward_op, 0, floating, a * b * math::gelu_tanh_slope(c))

}  // namespace mt::kernels
