// Gradients of products.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

// a @ b, by columns if `turned`: a gradient in the layout of what it belongs to need not be copied at the leaf.
Tensor product_laid_out(const Tensor& a, const Tensor& b, bool turned);

Tensor adjoint_of(const Tensor& matrix);  // conjugate transpose

}  // namespace mt::formulas
