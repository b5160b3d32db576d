#include "autograd/formulas/binary.h"

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/unary.h"

namespace mt::formulas {

Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Scalar& exponent) {
  if (exponent.equals(0)) return zeros_like(grad);
  const Scalar less = exponent.is_integral()  ? Scalar(int64_t(uint64_t(exponent.to<int64_t>()) - 1))
                      : exponent.is_complex() ? Scalar(exponent.to<complex128>() - 1.0)
                                              : Scalar(exponent.to<double>() - 1);
  return grad * conjugate(ops::pow(self, less) * exponent);
}

Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Tensor& exponent) {
  const Tensor slope = exponent * ops::pow(self, ops::sub(exponent, Scalar(1)));
  return where(ops::eq(exponent, Scalar(0)), Scalar(0), grad * conjugate(slope));
}

Tensor pow_backward_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent,
                             const Tensor& result) {
  // 0 ** positive has slope 0, where the formula would say 0 * -inf.
  const Tensor flat = ops::logical_and(ops::eq(self, Scalar(0)), ops::ge(ops::real(exponent), Scalar(0)));
  const Tensor base =
      is_complex(result.dtype()) && !is_complex(self.dtype()) ? ops::_to_copy(self, result.dtype()) : self;
  return where(flat, Scalar(0), grad * conjugate(result * ops::log(base)));
}

Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& other, const Tensor& lost) {
  const Tensor shared = where(ops::eq(self, other), grad / Scalar(2), grad);
  return where(lost, Scalar(0), shared);
}

Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  return where(ops::eq(self, Scalar(0)), Scalar(0), grad * (result / self));
}

Tensor xlogy_backward_self(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor flat = logical_and(ops::eq(self, Scalar(0)), ops::le(other, Scalar(0)));
  return where(flat, Scalar(0), xlogy(grad, other));
}

Tensor xlogy_backward_self(const Tensor& grad, const Tensor& self, const Scalar& other) {
  const Tensor slope = xlogy(grad, other);
  return other.to<double>() > 0 ? slope : where(ops::eq(self, Scalar(0)), Scalar(0), slope);
}

}  // namespace mt::formulas
