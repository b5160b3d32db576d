// Second derivatives of softmax.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                               int64_t dim);

}  // namespace mt::formulas
