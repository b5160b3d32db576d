#include "generated/ops/substitutes/loss.h"

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/unary.h"

namespace mt::substitutes {
namespace {

// The loss has the dtype of its input.
Tensor gap_between(const Tensor& self, const Tensor& target) {
  return ops::sub(self, target.dtype() == self.dtype() ? target : ops::_to_copy(target, self.dtype()));
}

}  // namespace

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  const Tensor size = ops::abs(gap_between(self, target));
  const Tensor inside = ops::mul(ops::mul(size, size), Scalar(0.5));
  const Tensor outside = ops::mul(ops::sub(size, Scalar(0.5 * delta)), Scalar(delta));
  const Tensor each = ops::where(ops::le(size, Scalar(delta)), inside, outside);
  if (reduction == 0) return each;
  return reduction == 1 ? ops::mean(each, DimList(), false, std::nullopt)
                        : ops::sum(each, DimList(), false, std::nullopt);
}

Tensor huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                           double delta) {
  const Tensor gap = gap_between(self, target);
  const Tensor slope = ops::clamp_max(ops::clamp_min(gap, Scalar(-delta)), Scalar(delta));
  const Tensor each = ops::mul(slope, grad);
  return reduction == 1 ? ops::div(each, Scalar(double(gap.numel()))) : each;
}

}  // namespace mt::substitutes
