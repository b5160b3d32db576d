// Gradients of cumulative operators.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor cumprod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);
Tensor reverse_logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                     int64_t dim);

}  // namespace mt::formulas
