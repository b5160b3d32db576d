// Elementwise cells made of other operators, for devices whose library has no operator of their own.
#include <cmath>
#include <limits>

#include "generated/ops/compositions.h"
#include "generated/ops/ops.h"
#include "infer/infer.h"

namespace mt::composition {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A number as a 0-dim tensor beside `like`, filled on the device.
Tensor number_beside(const Scalar& value, const Tensor& like) {
  return ops::full({}, value, TensorOptions{infer::result_type(like, value), like.device()});
}

// Half types as float, so that only the result is rounded to half.
Tensor wide(const Tensor& self) {
  const bool half = self.dtype() == DType::float16 || self.dtype() == DType::bfloat16;
  return half ? ops::_to_copy(self, DType::float32) : self;
}

// Integers as the default float.
Tensor floating(const Tensor& self) { return is_floating(self.dtype()) ? self : ops::mul(self, Scalar(1.0)); }

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
  const Tensor a = ops::abs(wide(self)), b = ops::abs(wide(other));
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
Tensor xlog1py(const Tensor& self, const Scalar& other) {
  return ops::special_xlog1py(self, number_beside(other, self));
}

Tensor deg2rad(const Tensor& self) { return ops::mul(self, Scalar(kPi / 180)); }
Tensor rad2deg(const Tensor& self) { return ops::mul(self, Scalar(180 / kPi)); }

Tensor prelu(const Tensor& self, const Tensor& weight) {
  return ops::where(ops::gt(self, Scalar(0)), self, ops::mul(weight, self));
}

// ---- complex numbers ----

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

// ---- the bits of a number ----

// A guess from the logarithm, corrected where it is off by one. The power is applied in halves, so that it stays finite.
std::tuple<Tensor, Tensor> frexp(const Tensor& self) {
  const Tensor special = ops::logical_or(ops::eq(self, Scalar(0)), ops::logical_not(ops::isfinite(self)));
  const Tensor x = ops::_to_copy(ops::where(special, Scalar(1), self), DType::float32);
  const auto scaled = [&](const Tensor& exponent) {
    const Tensor half = ops::floor(ops::mul(exponent, Scalar(0.5)));
    const Tensor rest = ops::sub(exponent, half);
    return ops::mul(ops::mul(x, ops::exp2(ops::neg(half))), ops::exp2(ops::neg(rest)));
  };
  Tensor exponent = ops::add(ops::floor(ops::log2(ops::abs(x))), Scalar(1));
  const Tensor guess = ops::abs(scaled(exponent));
  exponent = ops::add(exponent, ops::_to_copy(ops::ge(guess, Scalar(1)), DType::float32));
  exponent = ops::sub(exponent, ops::_to_copy(ops::lt(guess, Scalar(0.5)), DType::float32));
  const Tensor mantissa = ops::_to_copy(scaled(exponent), self.dtype());
  return {ops::where(special, self, mantissa), ops::where(special, Scalar(0), exponent)};
}

// Neighbours are neighbours as integers of the same bits, counted away from zero.
Tensor nextafter(const Tensor& self, const Tensor& other) {
  const bool wide = self.dtype() == DType::float64, narrow = self.dtype() != DType::float32 && !wide;
  const DType bits = wide ? DType::int64 : narrow ? DType::int16 : DType::int32;
  const Dims sizes = infer::broadcast(self.sizes(), other.sizes());
  const Tensor from = ops::contiguous(ops::expand(self, sizes)), to = ops::expand(other, sizes);
  const Tensor away = ops::eq(ops::lt(from, to), ops::gt(from, Scalar(0)));
  const Tensor moved = ops::add(ops::view(from, bits), ops::where(away, Scalar(1), Scalar(-1)));
  const Tensor smallest =
      ops::view(ops::full(sizes, Scalar(1), TensorOptions{bits, self.device()}), self.dtype());
  const Tensor from_zero = ops::where(ops::lt(to, Scalar(0)), ops::neg(smallest), smallest);
  const Tensor near =
      ops::where(ops::eq(from, Scalar(0)), from_zero, ops::view(ops::_to_copy(moved, bits), self.dtype()));
  const Tensor unknown = ops::logical_or(ops::isnan(from), ops::isnan(to));
  return ops::where(unknown, ops::add(from, to), ops::where(ops::eq(from, to), to, near));
}

// ---- special functions ----

Tensor entr(const Tensor& self) {
  return ops::where(ops::lt(self, Scalar(0)), Scalar(-kInfinity), ops::neg(ops::xlogy(self, self)));
}

Tensor ndtr(const Tensor& self) {
  return ops::mul(ops::erfc(ops::mul(wide(self), Scalar(-std::sqrt(0.5)))), Scalar(0.5));
}

// Reflected to x >= 1/2, raised by six steps, then the asymptotic series.
Tensor trigamma(const Tensor& self) {
  const Tensor given = wide(self), low = ops::lt(given, Scalar(0.5));
  Tensor x = ops::where(low, ops::sub(Scalar(1), given), given);
  Tensor sum = ops::zeros_like(x);
  for (int step = 0; step < 6; ++step) {
    sum = ops::add(sum, ops::reciprocal(ops::mul(x, x)));
    x = ops::add(x, Scalar(1));
  }
  const Tensor inverse = ops::reciprocal(x), square = ops::mul(inverse, inverse);
  Tensor tail = ops::add(ops::mul(square, Scalar(-1.0 / 30)), Scalar(1.0 / 42));  // of the Bernoulli numbers
  tail = ops::add(ops::mul(tail, square), Scalar(-1.0 / 30));
  tail = ops::add(ops::mul(tail, square), Scalar(1.0 / 6));
  tail = ops::mul(ops::mul(tail, square), inverse);
  sum = ops::add(sum, ops::add(ops::add(inverse, ops::mul(square, Scalar(0.5))), tail));
  const Tensor sine = ops::sin(ops::mul(given, Scalar(kPi)));
  const Tensor mirror = ops::div(Scalar(kPi * kPi), ops::mul(sine, sine));
  return ops::where(low, ops::sub(mirror, sum), sum);
}

}  // namespace mt::composition
