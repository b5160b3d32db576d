// Second derivatives of softmax.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                               int64_t dim);
// How the gradient of softmax moves with its output.
Tensor softmax_backward_tangent(const Tensor& output_tangent, const Tensor& grad_output, const Tensor& output,
                                int64_t dim);

}  // namespace mt::formulas
