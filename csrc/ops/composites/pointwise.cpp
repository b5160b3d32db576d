// Elementwise operators in terms of others.
#include "generated/ops/composites/pointwise.h"

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/unary.h"
#include "infer/infer.h"

namespace mt::composites {
namespace {

DType widest(bool complex) { return complex ? DType::complex128 : DType::float64; }

Tensor as_type(const Tensor& t, DType dtype) {
  return t.dtype() == dtype ? t : ops::_to_copy(t, dtype, std::nullopt, false, std::nullopt);
}

}  // namespace

Tensor positive(const Tensor& self) {
  MT_CHECK(self.dtype() != DType::boolean, "The `+` operator, on a bool tensor is not supported.");
  return self;
}

Tensor clamp(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  MT_CHECK(min || max, "torch.clamp: At least one of 'min' or 'max' must not be None");
  if (!max) return ops::clamp_min(self, *min);
  if (!min) return ops::clamp_max(self, *max);
  // One pass, unless the two bounds promote differently.
  if (infer::result_type(self, *min) == infer::result_type(self, *max)) return ops::_clamp(self, *min, *max);
  return ops::clamp_max(ops::clamp_min(self, *min), *max);
}

Tensor clamp(const Tensor& self, const Tensor& min, const Tensor& max) {
  MT_CHECK(min.defined() || max.defined(), "torch.clamp: At least one of 'min' or 'max' must not be None");
  if (!max.defined()) return ops::clamp_min(self, min);
  if (!min.defined()) return ops::clamp_max(self, max);
  // The three promote together: a bound without dimensions must not widen the tensor before the other is seen.
  return ops::clamp_max(ops::clamp_min(as_type(self, infer::ternary_type(self, min, max)), min), max);
}

Tensor divide(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return ops::div(self, other);
  if (*rounding_mode == "floor") return ops::_div_floor(self, other);
  MT_CHECK(*rounding_mode == "trunc",
           "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *rounding_mode,
           "'");
  return ops::_div_trunc(self, other);
}
Tensor divide(const Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode) {
  return rounding_mode ? divide(self, wrapped_scalar(other), rounding_mode) : ops::div(self, other);
}

Tensor ldexp(const Tensor& self, const Tensor& other) {
  return ops::mul(self, ops::pow(wrapped_scalar(Scalar(2.0)), other));
}

Tensor float_power(const Tensor& self, const Tensor& exponent) {
  const DType dtype = widest(is_complex(self.dtype()) || is_complex(exponent.dtype()));
  return ops::pow(as_type(self, dtype), as_type(exponent, dtype));
}
Tensor float_power(const Tensor& self, const Scalar& exponent) {
  return ops::pow(as_type(self, widest(is_complex(self.dtype()) || exponent.is_complex())), exponent);
}

Tensor float_power(const Scalar& self, const Tensor& exponent) {
  return ops::pow(wrapped_scalar(self),
                  as_type(exponent, widest(is_complex(exponent.dtype()) || self.is_complex())));
}

// A number on the left is a 0-dim tensor that does not outrank the right side's dtype.
Tensor add(const Scalar& self, const Tensor& other, const Scalar& alpha) {
  return ops::add(wrapped_scalar(self), other, alpha);
}
Tensor sub(const Scalar& self, const Tensor& other, const Scalar& alpha) {
  return ops::sub(wrapped_scalar(self), other, alpha);
}
Tensor mul(const Scalar& self, const Tensor& other) { return ops::mul(other, self); }
Tensor divide(const Scalar& self, const Tensor& other) { return ops::div(wrapped_scalar(self), other); }
Tensor divide(const Scalar& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  return divide(wrapped_scalar(self), other, rounding_mode);
}
Tensor floor_divide(const Scalar& self, const Tensor& other) {
  return ops::floor_divide(wrapped_scalar(self), other);
}
Tensor power(const Scalar& self, const Tensor& exponent) { return ops::pow(wrapped_scalar(self), exponent); }
Tensor remainder(const Scalar& self, const Tensor& other) {
  return ops::remainder(wrapped_scalar(self), other);
}
Tensor xlogy(const Scalar& self, const Tensor& other) { return ops::xlogy(wrapped_scalar(self), other); }
Tensor bitwise_and(const Scalar& self, const Tensor& other) {
  return ops::bitwise_and(wrapped_scalar(self), other);
}
Tensor bitwise_or(const Scalar& self, const Tensor& other) {
  return ops::bitwise_or(wrapped_scalar(self), other);
}
Tensor bitwise_xor(const Scalar& self, const Tensor& other) {
  return ops::bitwise_xor(wrapped_scalar(self), other);
}
Tensor bitwise_left_shift(const Scalar& self, const Tensor& other) {
  return ops::bitwise_left_shift(wrapped_scalar(self), other);
}
Tensor bitwise_right_shift(const Scalar& self, const Tensor& other) {
  return ops::bitwise_right_shift(wrapped_scalar(self), other);
}

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  MT_CHECK(self.dtype() == other.dtype(), info(self.dtype()).legacy, " did not match ",
           info(other.dtype()).legacy);
  MT_CHECK(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
  MT_CHECK(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
  Tensor close = ops::eq(self, other);
  if (equal_nan && is_differentiable(self.dtype()))
    close = ops::logical_or(close, ops::logical_and(ops::isnan(self), ops::isnan(other)));
  if (rtol == 0 && atol == 0) return close;
  // Integers and booleans compare as numbers of the default dtype, where differences cannot wrap.
  const DType dtype = infer::float_if_integral(self.dtype());
  const Tensor a = as_type(self, dtype), b = as_type(other, dtype);
  const Tensor allowed = ops::add(ops::abs(ops::mul(b, Scalar(rtol))), Scalar(atol));
  const Tensor error = ops::abs(ops::sub(a, b));
  return ops::logical_or(close, ops::logical_and(ops::isfinite(error), ops::le(error, allowed)));
}

Tensor fill(const Tensor& self, const Scalar& value) {
  Tensor made = ops::clone(self, std::nullopt);
  ops::fill_(made, value);
  return made;
}

Tensor fill(const Tensor& self, const Tensor& value) {
  Tensor made = ops::clone(self, std::nullopt);
  ops::fill_(made, value);
  return made;
}

}  // namespace mt::composites
