// Complex numbers in terms of other operators.
#include "generated/ops/composites/complex.h"

#include "generated/ops/binary.h"
#include "generated/ops/complex.h"
#include "generated/ops/matmul.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "infer/checks.h"
#include "infer/infer.h"

namespace mt::composites {

Tensor itself(const Tensor& self) { return self; }

Tensor conj(const Tensor& self) { return is_complex(self.dtype()) ? ops::_conj_physical(self) : self; }
Tensor conj_physical(const Tensor& self) { return conj(self); }

Tensor real(const Tensor& self) {
  return is_complex(self.dtype()) ? ops::select(ops::view_as_real(self), -1, 0) : self;
}

Tensor imag(const Tensor& self) {
  MT_CHECK(is_complex(self.dtype()), "imag is not implemented for tensors with non-complex dtypes.");
  return ops::select(ops::view_as_real(self), -1, 1);
}

Tensor adjoint(const Tensor& self) {
  MT_CHECK(self.dim() != 1,
           "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.");
  return ops::conj(self.dim() == 0 ? self : ops::transpose(self, -2, -1));
}

Tensor polar(const Tensor& abs, const Tensor& angle) {
  infer::check_complex_parts(abs, angle);
  return ops::complex(ops::mul(abs, ops::cos(angle)), ops::mul(abs, ops::sin(angle)));
}

Tensor vdot(const Tensor& self, const Tensor& other) {
  MT_CHECK(self.dtype() == other.dtype(), "dot : expected both vectors to have same dtype, but found ",
           info(self.dtype()).legacy, " and ", info(other.dtype()).legacy);
  return ops::dot(ops::conj(self), other);
}

}  // namespace mt::composites
