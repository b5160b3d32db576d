#include "autograd/formulas/copy.h"

#include "autograd/node.h"
#include "generated/ops/copy.h"

namespace mt::formulas {

Tensor to_like(const Tensor& grad, const autograd::OutputMeta& like) {
  if (grad.dtype() == like.dtype && grad.device() == like.device) return grad;
  return ops::_to_copy(grad, like.dtype, like.device, false, std::nullopt);
}

}  // namespace mt::formulas
