#include "autograd/formulas/statistics.h"

#include "autograd/formulas/reduce.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"

namespace mt::formulas {
namespace {

// Elements seen by one result, less the correction (1 unless given).
double freedom(IntList sizes, const DimList& dim, const std::optional<Scalar>& correction) {
  return reduced_count(sizes, dim).to<double>() - correction.value_or(Scalar(1)).to<double>();
}

Tensor with_mean(Tensor from_spread, const Tensor& grad_mean, const Tensor& self, const DimList& dim,
                 bool keepdim) {
  if (!grad_mean.defined()) return from_spread;
  const Tensor from_mean =
      with_kept_dims(grad_mean, self.sizes(), dim, keepdim) / reduced_count(self.sizes(), dim);
  return from_spread.defined() ? from_spread + from_mean : ops::expand(from_mean, self.sizes(), false);
}

}  // namespace

Tensor variance_backward(const Tensor& grad, const Tensor& self, const DimList& dim,
                         const std::optional<Scalar>& correction, bool keepdim) {
  const Tensor centered = self - ops::mean(self, dim, true, std::nullopt);
  return with_kept_dims(grad, self.sizes(), dim, keepdim) *
         Scalar(2.0 / freedom(self.sizes(), dim, correction)) * centered;
}

Tensor deviation_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const DimList& dim,
                          const std::optional<Scalar>& correction, bool keepdim) {
  const Tensor of_variance = where(ops::eq(result, Scalar(0)), Scalar(0), grad / (result * Scalar(2)));
  return variance_backward(of_variance, self, dim, correction, keepdim);
}

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

}  // namespace mt::formulas
