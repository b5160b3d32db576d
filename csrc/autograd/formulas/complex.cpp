#include "autograd/formulas/complex.h"

#include "generated/ops/compare.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/unary.h"

namespace mt::formulas {

Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (!is_complex(self.dtype())) return zeros_like(grad);
  // Only a turn changes the direction, so the part of grad along it is taken out.
  const Tensor along = result * ops::real(grad * conjugate(result));
  const Tensor size = ops::abs(self);
  return where(ops::eq(size, Scalar(0)), Scalar(0), (grad - along) / size);
}

Tensor angle_backward(const Tensor& grad, const Tensor& self) {
  if (!is_complex(self.dtype())) return zeros_like(grad);
  const Tensor size = ops::abs(self);
  const Tensor slope = self * Scalar(complex128(0, 1)) / (size * size);
  return where(ops::eq(size, Scalar(0)), Scalar(0), grad * slope);
}

Tensor real_part(const Tensor& grad) { return ops::real(grad); }
Tensor imaginary_part(const Tensor& grad) { return ops::imag(grad); }

}  // namespace mt::formulas
