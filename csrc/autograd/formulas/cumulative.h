// Gradients of cumulative operators.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor cumprod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);
Tensor reverse_logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                     int64_t dim);

// The sum of exp(self - result) * t up to each place. Parts of t that are positive and negative have logarithms apart.
Tensor logcumsumexp_tangent(const Tensor& tangent, const Tensor& self, const Tensor& result, int64_t dim,
                            bool reverse);

}  // namespace mt::formulas
