#include "autograd/formulas/pointwise.h"

namespace mt::formulas {

Tensor scaled(const Tensor& grad, const Scalar& factor) { return grad * factor; }

}  // namespace mt::formulas
