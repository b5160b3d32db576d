// Special functions made of elementary ones.
#include "generated/ops/substitutes/special.h"

#include <cmath>

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/special.h"
#include "generated/ops/unary.h"
#include "ops/substitutes/common.h"

namespace mt::substitutes {

Tensor xlog1py(const Tensor& self, const Scalar& other) {
  return ops::special_xlog1py(self, number_beside(other, self));
}

Tensor entr(const Tensor& self) {
  return ops::where(ops::lt(self, Scalar(0)), Scalar(-kInfinity), ops::neg(ops::xlogy(self, self)));
}

Tensor ndtr(const Tensor& self) {
  return ops::mul(ops::erfc(ops::mul(wide(self), Scalar(-std::sqrt(0.5)))), Scalar(0.5));
}

}  // namespace mt::substitutes
