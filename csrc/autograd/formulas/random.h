// Gradients of samples.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

// An entry's own slope pushes it up and, because all add up to 1, the others down in proportion to their sizes.
Tensor sample_dirichlet_backward(const Tensor& grad, const Tensor& concentration, const Tensor& sample);

}  // namespace mt::formulas
