// Operators with two operands made of other elementwise operators.
#include "generated/ops/substitutes/binary.h"

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/unary.h"
#include "ops/substitutes/common.h"

namespace mt::substitutes {
namespace {

// Integers as the default float.
Tensor floating(const Tensor& self) { return is_floating(self.dtype()) ? self : ops::mul(self, Scalar(1.0)); }

Tensor magnitude(const Tensor& t) { return t.dtype() == DType::boolean ? t : ops::abs(wide(t)); }

}  // namespace

Tensor fmax(const Tensor& self, const Tensor& other) {
  const Tensor either = ops::where(ops::isnan(other), self, ops::maximum(self, other));
  return ops::where(ops::isnan(self), other, either);
}

Tensor fmin(const Tensor& self, const Tensor& other) {
  const Tensor either = ops::where(ops::isnan(other), self, ops::minimum(self, other));
  return ops::where(ops::isnan(self), other, either);
}

Tensor copysign(const Tensor& self, const Tensor& other) {
  const Tensor size = ops::abs(floating(self));
  return ops::where(ops::signbit(other), ops::neg(size), size);
}

Tensor copysign(const Tensor& self, const Scalar& other) {
  const Tensor size = ops::abs(floating(self));
  return std::signbit(other.to<double>()) ? ops::neg(size) : size;
}

// The larger leg is taken out of the root, so that no square overflows.
Tensor hypot(const Tensor& self, const Tensor& other) {
  const Tensor a = magnitude(self), b = magnitude(other);
  const Tensor large = ops::maximum(a, b), small = ops::minimum(a, b);
  const Tensor ratio = ops::div(small, ops::where(ops::eq(large, Scalar(0)), Scalar(1), large));
  const Tensor root = ops::mul(large, ops::sqrt(ops::add(ops::mul(ratio, ratio), Scalar(1))));
  const Tensor endless = ops::logical_or(ops::isinf(self), ops::isinf(other));
  return ops::where(endless, Scalar(kInfinity), root);
}

Tensor lcm(const Tensor& self, const Tensor& other) {
  const Tensor divisor = ops::clamp_min(ops::gcd(self, other), Scalar(1));  // both are 0 where it was 0
  return ops::abs(ops::mul(ops::floor_divide(self, divisor), other));
}

Tensor bitwise_right_shift(const Tensor& self, const Scalar& other) {
  return ops::bitwise_right_shift(self, number_beside(other, self));
}

}  // namespace mt::substitutes
