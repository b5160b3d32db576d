// Gradients of operators with two operands.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Scalar& exponent);
Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Tensor& exponent);
Tensor pow_backward_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent,
                             const Tensor& result);
Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& other, const Tensor& lost);

Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor xlogy_backward_self(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor xlogy_backward_self(const Tensor& grad, const Tensor& self, const Scalar& other);

}  // namespace mt::formulas
