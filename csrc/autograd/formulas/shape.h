// Gradients of joins and of shapes in new memory.
#pragma once

#include <vector>

#include "autograd/formulas/common.h"

namespace mt::formulas {

std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<Dims>& sizes, int64_t dim);

inline Dims last_two(IntList sizes) { return Dims(sizes.last(2)); }

}  // namespace mt::formulas
