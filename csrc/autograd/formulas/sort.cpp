#include "autograd/formulas/sort.h"

#include "autograd/formulas/zeros.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/reduce.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"

namespace mt::formulas {

Tensor picked_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntList sizes, bool keepdim) {
  if (sizes.empty()) return grad;
  const Tensor kept = keepdim ? grad : ops::unsqueeze(grad, dim);
  const Tensor at = keepdim ? indices : ops::unsqueeze(indices, dim);
  return ops::scatter_add(nothing_of(grad, sizes), dim, at, kept);
}

Tensor median_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  // NaN equals nothing, itself included: for a median of NaN the NaNs share.
  const Tensor hit = where(ops::isnan(result), ops::isnan(self), ops::eq(self, result));
  const Tensor share = grad / ops::sum(hit, DimList(), false, grad.dtype());
  return where(hit, share, Scalar(0));
}

}  // namespace mt::formulas
