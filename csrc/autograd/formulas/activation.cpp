#include "autograd/formulas/activation.h"

#include "generated/ops/activation.h"
#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/shape.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"

namespace mt::formulas {

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

Tensor glu_tangent(const Tensor& tangent, const Tensor& self, int64_t dim) {
  const auto in = ops::chunk(self, 2, dim), moved = ops::chunk(tangent, 2, dim);
  const Tensor s = sigmoid(in[1]);
  return moved[0] * s + moved[1] * in[0] * s * (Scalar(1) - s);
}

Tensor glu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self, int64_t dim) {
  const auto in = ops::chunk(self, 2, dim), of = ops::chunk(grad, 2, dim);
  const Tensor s = sigmoid(in[1]);
  const Tensor slope = grad_output * s * (Scalar(1) - s);
  const Tensor bend = of[0] + of[1] * in[0] * (Scalar(1) - s * Scalar(2));
  const Tensor parts[] = {of[1] * slope, bend * slope};
  return ops::cat(parts, dim);
}

}  // namespace mt::formulas
