// Larger pieces of formulas: activations and elementwise pieces.
#pragma once

#include <array>

#include "autograd/node.h"
#include "generated/ops/ops.h"

namespace mt::formulas {

using namespace mt::ops;

// grad * factor: operator* between a tensor and a number, spelled as a function where the number is saved.
Tensor scaled(const Tensor& grad, const Scalar& factor);
Tensor operator>(const Tensor& a, const Scalar& b);

Tensor sinc_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor xlogy_backward_self(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor xlogy_backward_self(const Tensor& grad, const Tensor& self, const Scalar& other);
Tensor logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps);

// Second derivatives; `product` is the gradient times the gradient that the first derivative was given.
Tensor silu_double_backward(const Tensor& product, const Tensor& self);
Tensor mish_double_backward(const Tensor& product, const Tensor& self);
Tensor gelu_double_backward(const Tensor& product, const Tensor& self, std::string_view approximate);
Tensor softplus_double_backward(const Tensor& product, const Tensor& self, const Scalar& beta,
                                const Scalar& threshold);
Tensor elu_double_backward(const Tensor& product, const Scalar& alpha, const Scalar& scale,
                           const Scalar& input_scale, bool is_result, const Tensor& self_or_result);

}  // namespace mt::formulas
