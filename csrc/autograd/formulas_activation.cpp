#include "autograd/formulas.h"

namespace mt::formulas {

Tensor scaled(const Tensor& grad, const Scalar& factor) { return grad * factor; }
Tensor operator>(const Tensor& a, const Scalar& b) { return ops::gt(a, b); }

Tensor sinc_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor slope = (cos(self * Scalar(3.141592653589793)) - result) / self;
  return where(ops::eq(self, Scalar(0)), Scalar(0), grad * slope);
}

Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  return where(ops::eq(self, Scalar(0)), Scalar(0), grad * (result / self));
}

Tensor xlogy_backward_self(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor flat = logical_and(ops::eq(self, Scalar(0)), ops::le(other, Scalar(0)));
  return where(flat, Scalar(0), xlogy(grad, other));
}
Tensor xlogy_backward_self(const Tensor& grad, const Tensor& self, const Scalar& other) {
  const Tensor slope = xlogy(grad, other);
  return other.to<double>() > 0 ? slope : where(ops::eq(self, Scalar(0)), Scalar(0), slope);
}

Tensor logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps) {
  const Scalar low(eps.value_or(0.0)), high(1.0 - eps.value_or(0.0));
  const Tensor inside = logical_and(self >= low, self <= high);
  const Scalar outside(eps ? 0.0 : std::numeric_limits<double>::quiet_NaN());
  return where(inside, grad / (self * (Scalar(1) - self)), outside);
}

Tensor silu_double_backward(const Tensor& product, const Tensor& self) {
  const Tensor s = sigmoid(self);
  return product * s * (Scalar(1) - s) * (self * (Scalar(1) - s * Scalar(2)) + Scalar(2));
}

Tensor mish_double_backward(const Tensor& product, const Tensor& self) {
  const Tensor s = sigmoid(self), t = tanh(softplus(self, Scalar(1), Scalar(20)));
  const Tensor bend = self * (Scalar(1) - s) - self * s * t * Scalar(2) + Scalar(2);
  return product * (Scalar(1) - t * t) * s * bend;
}

Tensor gelu_double_backward(const Tensor& product, const Tensor& self, std::string_view approximate) {
  const Tensor square = self * self;
  if (approximate == "none") {
    const Tensor density = exp(square * Scalar(-0.5)) * Scalar(0.3989422804014327);
    return product * density * (Scalar(2) - square);
  }
  constexpr double slope = 0.7978845608028654, bend = 0.044715;
  const Tensor t = tanh((self + self * square * Scalar(bend)) * Scalar(slope));
  const Tensor first = square * Scalar(3 * slope * bend) + Scalar(slope);
  const Tensor second = self * Scalar(6 * slope * bend);
  const Tensor fall = Scalar(1) - t * t;
  return product * fall * (first + self * (second - t * first * first * Scalar(2)) * Scalar(0.5));
}

Tensor softplus_double_backward(const Tensor& product, const Tensor& self, const Scalar& beta,
                                const Scalar& threshold) {
  const Tensor scaled_input = self * beta, s = sigmoid(scaled_input);
  return where(scaled_input > threshold, Scalar(0), product * s * (Scalar(1) - s) * beta);
}

Tensor elu_double_backward(const Tensor& product, const Scalar& alpha, const Scalar& scale,
                           const Scalar& input_scale, bool is_result, const Tensor& self_or_result) {
  Tensor below = product * input_scale;
  if (!is_result) {
    const Scalar factor(alpha.to<double>() * scale.to<double>() * input_scale.to<double>());
    below = below * exp(self_or_result * input_scale) * factor;
  }
  return where(self_or_result <= Scalar(0), below, Scalar(0));
}

}  // namespace mt::formulas
