// Gradients of special functions.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

// For an argument in which PyTorch does not differentiate either; `what` as it names it.
[[noreturn]] Tensor not_differentiable(const char* what);
Scalar order_above(const Scalar& n);  // n + 1
Tensor i1_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor xlog1py_backward_self(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor xlog1py_backward_self(const Tensor& grad, const Tensor& self, const Scalar& other);

}  // namespace mt::formulas
