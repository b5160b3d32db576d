#include "autograd/formulas/copy.h"

#include "autograd/node.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"

namespace mt::formulas {

Tensor to_like(const Tensor& grad, const autograd::OutputMeta& like) {
  if (grad.dtype() == like.dtype && grad.device() == like.device) return grad;
  // The gradient of something real has no imaginary part to keep.
  const bool real = is_complex(grad.dtype()) && !is_complex(like.dtype);
  return ops::_to_copy(real ? ops::real(grad) : grad, like.dtype, like.device, false, std::nullopt);
}

}  // namespace mt::formulas
