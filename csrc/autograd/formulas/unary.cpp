#include "autograd/formulas/unary.h"

#include "generated/ops/compare.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/unary.h"

namespace mt::formulas {

Tensor sinc_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor slope = (cos(self * Scalar(3.141592653589793)) - result) / self;
  return where(ops::eq(self, Scalar(0)), Scalar(0), grad * slope);
}

Tensor direction(const Tensor& self) { return is_complex(self.dtype()) ? ops::sgn(self) : ops::sign(self); }

}  // namespace mt::formulas
