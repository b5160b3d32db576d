// The bits of a number, made of arithmetic.
#include "generated/ops/substitutes/pointwise.h"

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "infer/infer.h"
#include "ops/substitutes/common.h"

namespace mt::substitutes {

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

}  // namespace mt::substitutes
