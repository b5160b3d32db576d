// Gradients of elementwise operators with more than two operands or a number.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

// grad * factor: operator* between a tensor and a number, spelled as a function where the number is saved.
Tensor scaled(const Tensor& grad, const Scalar& factor);
Scalar one_minus(const Scalar& number);

}  // namespace mt::formulas
