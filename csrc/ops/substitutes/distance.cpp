// Gradients of distances made of elementwise operators.
#include "generated/ops/substitutes/distance.h"

#include <cmath>

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "ops/substitutes/common.h"

namespace mt::substitutes {

// Every distance pulls at the two points that it lies between.
Tensor pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& pdist) {
  const Tensor nothing = ops::zeros_like(self);
  const int64_t points = self.size(0);
  if (p == 0.0 || grad.numel() == 0 || self.size(1) == 0) return nothing;
  const Tensor pairs = ops::triu_indices(points, points, 1, places_beside(self));
  const Tensor first = ops::select(pairs, 0, 0), second = ops::select(pairs, 0, 1);
  const Tensor apart = ops::sub(ops::index_select(self, 0, first), ops::index_select(self, 0, second));
  const Tensor length = ops::unsqueeze(pdist, 1), pull = ops::unsqueeze(grad, 1);
  Tensor share = ops::sign(apart);
  if (std::isinf(p)) {
    share = ops::mul(share, ops::eq(ops::abs(apart), length));
  } else if (p != 1.0) {
    const Tensor powers = ops::div(ops::pow(ops::abs(apart), Scalar(p - 1)), ops::pow(length, Scalar(p - 1)));
    share = ops::where(ops::eq(length, Scalar(0)), Scalar(0), ops::mul(share, powers));
  }
  share = ops::mul(share, pull);
  return ops::index_add(ops::index_add(nothing, 0, first, share), 0, second, ops::neg(share));
}

}  // namespace mt::substitutes
