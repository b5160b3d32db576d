// Gradients of sorting and selecting.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

// Values picked along a dimension (sort, topk, median): each gradient returns to where its value came from.
Tensor picked_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntList sizes, bool keepdim);
// The median of everything: elements equal to it share its gradient.
Tensor median_backward(const Tensor& grad, const Tensor& self, const Tensor& result);

}  // namespace mt::formulas
