// Elementwise operators and activations in terms of other operators.
#include "core/views.h"
#include "generated/ops/ops.h"
#include "infer/infer.h"

namespace mt::composite {

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
  const Tensor above = min.defined() ? ops::clamp_min(self, min) : self;
  return max.defined() ? ops::clamp_max(above, max) : above;
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

namespace {

DType widest(bool complex) { return complex ? DType::complex128 : DType::float64; }

Tensor as_type(const Tensor& t, DType dtype) {
  return t.dtype() == dtype ? t : ops::_to_copy(t, dtype, std::nullopt, false, std::nullopt);
}

}  // namespace

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

// ---- activations ----

Tensor selu(const Tensor& self) {
  return ops::elu(self, Scalar(1.6732632423543772), Scalar(1.0507009873554805), Scalar(1));
}

Tensor celu(const Tensor& self, const Scalar& alpha) {
  MT_CHECK(!alpha.equals(0), "ZeroDivisionError: alpha cannot be 0 for CELU");
  return ops::elu(self, alpha, Scalar(1.0), Scalar(1.0 / alpha.to<double>()));
}

Tensor prelu(const Tensor& self, const Tensor& weight) {
  MT_CHECK(self.dtype() == weight.dtype(), "prelu: Type promoting not supported. Got ",
           info(self.dtype()).legacy, " and ", info(weight.dtype()).legacy);
  const int64_t count = weight.numel();
  if (count == 1) return ops::_prelu_kernel(self, weight.dim() == 0 ? weight : weight.reshape({}));
  MT_CHECK(self.dim() > 0, "Not allow zero-dim input tensor.");
  const int64_t channels = self.dim() > 1 ? self.sizes()[1] : 1;
  MT_CHECK(channels == count,
           "Mismatch of parameter numbers and input channel size. Found parameter numbers = ", count,
           " and channel size = ", channels, ".");
  MT_CHECK(weight.dim() <= 1,
           "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  Dims shape(size_t(self.dim()), 1);
  shape[1] = count;
  return ops::_prelu_kernel(self, weight.reshape(shape));
}

Tensor glu(const Tensor& self, int64_t dim) {
  MT_CHECK(self.dim() > 0, "glu does not support scalars because halving size must be even");
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t length = self.sizes()[size_t(d)];
  MT_CHECK(length % 2 == 0, "Halving dimension must be even, but dimension ", d, " is size ", length);
  const Tensor value = ops::slice(self, d, 0, length / 2, 1),
               gate = ops::slice(self, d, length / 2, length, 1);
  return ops::mul(value, ops::sigmoid(gate));
}

}  // namespace mt::composite
