#include "autograd/formulas/reduce.h"

#include <cmath>

#include "autograd/formulas/unary.h"
#include "autograd/formulas/zeros.h"
#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "infer/infer.h"

namespace mt::formulas {

Tensor with_kept_dims(const Tensor& grad, IntList sizes, const DimList& dim, bool keepdim) {
  if (keepdim || sizes.empty() || (dim.all() && grad.dim() == 0)) return grad;
  return grad.reshape(infer::reduced_shape(sizes, dim, true));
}

Tensor unreduce(const Tensor& grad, IntList sizes, const DimList& dim, bool keepdim) {
  return ops::expand(with_kept_dims(grad, sizes, dim, keepdim), sizes, false);
}

Scalar reduced_count(IntList sizes, const DimList& dim) {
  const uint64_t mask = infer::dim_mask(dim, int64_t(sizes.size()));
  int64_t count = 1;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (mask >> i & 1) count *= sizes[i];
  return Scalar(count);
}

Tensor reduce_extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                const DimList& dim, bool keepdim) {
  Tensor hit = ops::eq(self, with_kept_dims(result, self.sizes(), dim, keepdim));
  // Of all elements: where the extremum is NaN, which equals nothing, the NaNs share.
  if (result.dim() == 0 && self.dim() > 0) hit = where(ops::isnan(result), ops::isnan(self), hit);
  const Tensor share = ops::sum(hit, dim, true, grad.dtype());
  return where(hit, with_kept_dims(grad, self.sizes(), dim, keepdim) / share, Scalar(0));
}

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const DimList& dim,
                     bool keepdim) {
  // The derivative is the product of the others: result / self, except in slices that hold a zero. With one zero
  // only its own place has a derivative, the product of the rest; with two there is none.
  const Tensor zero = ops::eq(self, Scalar(0));
  if (known_to_be_none(zero))
    return with_kept_dims(grad * conjugate(result), self.sizes(), dim, keepdim) / conjugate(self);
  const Tensor zeros = ops::sum(zero, dim, true, std::nullopt);
  const Tensor without = where(zero, Scalar(1), self);
  const Tensor others = ops::expand(ops::prod(without, dim, true, std::nullopt), self.sizes(), false);
  const Tensor plain = unreduce(result, self.sizes(), dim, keepdim) / without;
  const Tensor at_zero = where(ops::eq(zeros, Scalar(1)), others, Scalar(0));
  return unreduce(grad, self.sizes(), dim, keepdim) *
         conjugate(where(zero, at_zero, where(ops::eq(zeros, Scalar(0)), plain, Scalar(0))));
}

Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const DimList& dim,
                          bool keepdim) {
  return unreduce(grad, self.sizes(), dim, keepdim) *
         ops::exp(self - unreduce(result, self.sizes(), dim, keepdim));
}

Tensor vector_norm_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const Scalar& ord,
                            const DimList& dim, bool keepdim) {
  const double p = ord.to<double>();
  if (p == 0) return zeros_like(self);
  const Tensor g = with_kept_dims(grad, self.sizes(), dim, keepdim);
  if (p == 1) return direction(self) * g;
  const Tensor norm = with_kept_dims(result, self.sizes(), dim, keepdim);
  const Tensor none = ops::eq(norm, Scalar(0));
  if (p == 2) return self * where(none, Scalar(0), g / where(none, Scalar(1), norm));
  if (std::isinf(p)) {
    const Tensor hit = ops::eq(ops::abs(self), norm);
    const Tensor share = ops::sum(hit, dim, true, grad.dtype());
    return where(hit, direction(self) * (g / share), Scalar(0));
  }
  if (p > 2) {
    const Tensor ratio = self * where(none, Scalar(0), ops::reciprocal(where(none, Scalar(1), norm)));
    if (p == 3) return ratio * ops::abs(ratio) * g;
    if (std::fmod(p, 2.0) == 0 && !is_complex(self.dtype())) return ops::pow(ratio, Scalar(p - 1)) * g;
    return ratio * ops::pow(ops::abs(ratio), Scalar(p - 2)) * g;
  }
  // d|x|^p: where x or the norm is 0 a power may be infinite, and the subgradient 0 is taken.
  const Tensor size = ops::abs(self), absent = ops::logical_or(none, ops::eq(size, Scalar(0)));
  const Tensor ratio = where(absent, Scalar(1), size) / where(none, Scalar(1), norm);
  return where(absent, Scalar(0), direction(self) * ops::pow(ratio, Scalar(p - 1)) * g);
}

}  // namespace mt::formulas
