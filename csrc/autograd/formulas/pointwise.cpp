#include "autograd/formulas/pointwise.h"

namespace mt::formulas {

Tensor scaled(const Tensor& grad, const Scalar& factor) { return grad * factor; }

Scalar one_minus(const Scalar& number) {
  if (number.is_complex()) return 1.0 - number.to<complex128>();
  return 1.0 - number.to<double>();
}

}  // namespace mt::formulas
