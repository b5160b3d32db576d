#include "autograd/formulas/special.h"

#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/special.h"
#include "generated/ops/unary.h"

namespace mt::formulas {
namespace {

// result / self, whose limit at 0 is 1/2 for both i1 and i1e; the other branch must not divide by 0 either,
// because its gradient is computed, too.
Tensor over_self(const Tensor& self, const Tensor& result) {
  const Tensor at_zero = ops::eq(self, 0);
  return ops::where(at_zero, 0.5, result / ops::where(at_zero, 1, self));
}

}  // namespace

Tensor not_differentiable(const char* what) {
  fail(ErrorKind::not_implemented, "the derivative for '", what, "' is not implemented.");
}

Scalar order_above(const Scalar& n) { return n.to<double>() + 1; }

Tensor i1_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  return grad * (ops::i0(self) - over_self(self, result));
}

Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  return grad * (ops::special_i0e(self) - ops::sign(self) * result - over_self(self, result));
}

// Where x is 0 the function is 0 for every y, so the logarithm of what lies outside its domain is left out.
Tensor xlog1py_backward_self(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor left_out = ops::logical_and(ops::eq(self, 0), ops::le(other, -1));
  return ops::where(left_out, 0, grad * ops::log1p(other));
}
Tensor xlog1py_backward_self(const Tensor& grad, const Tensor& self, const Scalar& other) {
  return xlog1py_backward_self(grad, self, wrapped_scalar(other));
}

}  // namespace mt::formulas
