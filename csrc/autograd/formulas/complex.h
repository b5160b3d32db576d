// Gradients of the parts of complex numbers.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor angle_backward(const Tensor& grad, const Tensor& self);
Tensor real_part(const Tensor& grad);
Tensor imaginary_part(const Tensor& grad);

}  // namespace mt::formulas
