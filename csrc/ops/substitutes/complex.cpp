// Complex numbers made of their real parts.
#include "generated/ops/substitutes/complex.h"

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"

namespace mt::substitutes {

Tensor conj_physical(const Tensor& self) {
  if (!is_complex(self.dtype())) return self;
  const Tensor parts = ops::view_as_real(self);
  return ops::complex(ops::contiguous(ops::select(parts, -1, 0)), ops::neg(ops::select(parts, -1, 1)));
}

Tensor sgn(const Tensor& self) {
  if (!is_complex(self.dtype())) return ops::sign(self);
  const Tensor parts = ops::view_as_real(self);
  const Tensor length = ops::unsqueeze(ops::abs(self), -1);
  const Tensor scaled = ops::div(parts, ops::where(ops::eq(length, Scalar(0)), Scalar(1), length));
  return ops::view_as_complex(ops::contiguous(scaled));
}

Tensor isreal(const Tensor& self) {
  if (!is_complex(self.dtype()))
    return ops::full(self.sizes(), true, TensorOptions{DType::boolean, self.device()});
  return ops::eq(ops::select(ops::view_as_real(self), -1, 1), Scalar(0));
}

}  // namespace mt::substitutes
