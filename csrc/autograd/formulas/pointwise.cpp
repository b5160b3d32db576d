#include "autograd/formulas/pointwise.h"

#include <limits>

#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/index.h"

namespace mt::formulas {

Tensor scaled(const Tensor& grad, const Scalar& factor) { return grad * factor; }

Tensor logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps) {
  const Scalar low(eps.value_or(0.0)), high(1.0 - eps.value_or(0.0));
  const Tensor inside = logical_and(self >= low, self <= high);
  const Scalar outside(eps ? 0.0 : std::numeric_limits<double>::quiet_NaN());
  return where(inside, grad / (self * (Scalar(1) - self)), outside);
}

}  // namespace mt::formulas
