// Gradients of copies.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor to_like(const Tensor& grad, const autograd::OutputMeta& like);

}  // namespace mt::formulas
