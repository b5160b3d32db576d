#include <cmath>
#include <limits>

#include "autograd/formulas.h"

namespace mt::formulas {
namespace {

// Elements seen by one result, less the correction (1 unless given).
double freedom(IntList sizes, const DimList& dim, const std::optional<Scalar>& correction) {
  return reduced_count(sizes, dim).to<double>() - correction.value_or(Scalar(1)).to<double>();
}

double lowest_number(DType dtype) {
  if (dtype == DType::float16) return -65504;
  const bool twice = dtype == DType::float64 || dtype == DType::complex128;
  return twice ? std::numeric_limits<double>::lowest() : double(std::numeric_limits<float>::lowest()) * 0.99;
}

}  // namespace

Tensor variance_backward(const Tensor& grad, const Tensor& self, const DimList& dim,
                         const std::optional<Scalar>& correction, bool keepdim) {
  const Tensor centered = self - ops::mean(self, dim, true, std::nullopt);
  return unreduce(grad, self.sizes(), dim, keepdim) * centered *
         Scalar(2.0 / freedom(self.sizes(), dim, correction));
}

Tensor deviation_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const DimList& dim,
                          const std::optional<Scalar>& correction, bool keepdim) {
  const Tensor of_variance = where(ops::eq(result, Scalar(0)), Scalar(0), grad / (result * Scalar(2)));
  return variance_backward(of_variance, self, dim, correction, keepdim);
}

namespace {
Tensor with_mean(Tensor from_spread, const Tensor& grad_mean, const Tensor& self, const DimList& dim,
                 bool keepdim) {
  if (!grad_mean.defined()) return from_spread;
  const Tensor from_mean = unreduce(grad_mean, self.sizes(), dim, keepdim) / reduced_count(self.sizes(), dim);
  return from_spread.defined() ? from_spread + from_mean : from_mean;
}
}  // namespace

Tensor variance_and_mean_backward(const Tensor& grad, const Tensor& grad_mean, const Tensor& self,
                                  const DimList& dim, const std::optional<Scalar>& correction, bool keepdim) {
  Tensor spread = grad.defined() ? variance_backward(grad, self, dim, correction, keepdim) : Tensor();
  return with_mean(std::move(spread), grad_mean, self, dim, keepdim);
}

Tensor deviation_and_mean_backward(const Tensor& grad, const Tensor& grad_mean, const Tensor& self,
                                   const Tensor& result, const DimList& dim,
                                   const std::optional<Scalar>& correction, bool keepdim) {
  Tensor spread =
      grad.defined() ? deviation_backward(grad, self, result, dim, correction, keepdim) : Tensor();
  return with_mean(std::move(spread), grad_mean, self, dim, keepdim);
}

Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const DimList& dim,
                          bool keepdim) {
  return unreduce(grad, self.sizes(), dim, keepdim) *
         ops::exp(self - unreduce(result, self.sizes(), dim, keepdim));
}

Tensor cumprod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
  // Up to the first zero of a line each factor divides out of the products that hold it. At the first zero they are
  // the products without it, up to the next zero; behind it every product stays zero.
  const Tensor zero = ops::eq(self, Scalar(0));
  const Tensor seen = ops::cumsum(zero, dim, std::nullopt);
  const Tensor first = ops::logical_and(zero, ops::eq(seen, Scalar(1)));
  const Tensor without = where(first, Scalar(1), self);
  const Tensor divided = _reverse_cumsum(grad * result, dim) / where(zero, Scalar(1), self);
  const Tensor at_zero = _reverse_cumsum(grad * ops::cumprod(without, dim, std::nullopt), dim);
  return where(first, at_zero, where(ops::eq(seen, Scalar(0)), divided, Scalar(0)));
}

namespace {
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

Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
  return running_log_backward(grad, self, result, dim, ops::_reverse_logcumsumexp);
}
Tensor reverse_logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                     int64_t dim) {
  return running_log_backward(grad, self, result, dim, ops::logcumsumexp);
}

Tensor vector_norm_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const Scalar& ord,
                            const DimList& dim, bool keepdim) {
  const double p = ord.to<double>();
  if (p == 0) return zeros_like(self);
  const Tensor g = unreduce(grad, self.sizes(), dim, keepdim);
  if (p == 1) return g * direction(self);
  const Tensor norm = unreduce(result, self.sizes(), dim, keepdim);
  const Tensor none = ops::eq(norm, Scalar(0));
  if (p == 2) return where(none, Scalar(0), self * (g / where(none, Scalar(1), norm)));
  const Tensor size = ops::abs(self);
  if (std::isinf(p)) {
    const Tensor hit = ops::eq(size, norm);
    const Tensor share = ops::sum(hit, dim, true, grad.dtype());
    return where(hit, direction(self) * (g / share), Scalar(0));
  }
  // d|x|^p: where x or the norm is 0 a power may be infinite, and the subgradient 0 is taken.
  const Tensor absent = ops::logical_or(none, ops::eq(size, Scalar(0)));
  const Tensor ratio = where(absent, Scalar(1), size) / where(none, Scalar(1), norm);
  return where(absent, Scalar(0), g * direction(self) * ops::pow(ratio, Scalar(p - 1)));
}

}  // namespace mt::formulas
