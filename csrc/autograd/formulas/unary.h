// Gradients of elementwise operators.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor sinc_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor direction(const Tensor& self);  // x / |x|

}  // namespace mt::formulas
