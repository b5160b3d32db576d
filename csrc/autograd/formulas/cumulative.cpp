#include "autograd/formulas/cumulative.h"

#include <limits>

#include "autograd/formulas/zeros.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/cumulative.h"
#include "generated/ops/index.h"
#include "generated/ops/unary.h"

namespace mt::formulas {
namespace {

double lowest_number(DType dtype) {
  if (dtype == DType::float16) return -65504;
  const bool twice = dtype == DType::float64 || dtype == DType::complex128;
  return twice ? std::numeric_limits<double>::lowest() : double(std::numeric_limits<float>::lowest()) * 0.99;
}

// The sum of grad * exp(self - result) over all places whose result holds this element, in logarithms: positive and
// negative gradients apart. `gather` is the running log-sum-exp in the other direction.
Tensor running_log_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim,
                            Tensor (*gather)(const Tensor&, int64_t)) {
  const Tensor size = ops::abs(grad);
  // The logarithm of a gradient that is not there: finite, because differences of infinities would be NaN.
  const Scalar absent(lowest_number(grad.dtype()));
  const auto part = [&](const Tensor& belongs) {
    const Tensor terms = where(belongs, ops::log(size), absent) - result;
    return ops::exp(gather(terms, dim) + self);
  };
  return part(ops::gt(grad, Scalar(0))) - part(ops::lt(grad, Scalar(0)));
}

}  // namespace

Tensor cumprod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
  // Up to the first zero of a line each factor divides out of the products that hold it. At the first zero they are
  // the products without it, up to the next zero; behind it every product stays zero.
  const Tensor zero = ops::eq(self, Scalar(0));
  const Tensor weighted = _reverse_cumsum(grad * conjugate(result), dim);
  if (known_to_be_none(zero)) return weighted / conjugate(self);
  const Tensor seen = ops::cumsum(zero, dim, std::nullopt);
  const Tensor first = ops::logical_and(zero, ops::eq(seen, Scalar(1)));
  const Tensor without = where(first, Scalar(1), self);
  const Tensor divided = weighted / conjugate(where(zero, Scalar(1), self));
  const Tensor at_zero = _reverse_cumsum(grad * conjugate(ops::cumprod(without, dim, std::nullopt)), dim);
  return where(first, at_zero, where(ops::eq(seen, Scalar(0)), divided, Scalar(0)));
}

Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
  return running_log_backward(grad, self, result, dim, ops::_reverse_logcumsumexp);
}

Tensor reverse_logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                     int64_t dim) {
  return running_log_backward(grad, self, result, dim, ops::logcumsumexp);
}

Tensor logcumsumexp_tangent(const Tensor& tangent, const Tensor& self, const Tensor& result, int64_t dim,
                            bool reverse) {
  const auto summed = [&](const Tensor& weighted) {
    const Tensor logs =
        reverse ? ops::_reverse_logcumsumexp(weighted, dim) : ops::logcumsumexp(weighted, dim);
    return ops::exp(logs - result);
  };
  if (is_complex(self.dtype())) return summed(self + ops::log(tangent));
  const Scalar none(-std::numeric_limits<double>::infinity());
  const auto part = [&](const Tensor& size) {
    const Tensor there = size > Scalar(0);
    return summed(where(there, self + ops::log(where(there, size, Scalar(1))), none));
  };
  return part(tangent) - part(-tangent);
}

}  // namespace mt::formulas
