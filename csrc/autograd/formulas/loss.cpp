#include "autograd/formulas/loss.h"

#include <cmath>

#include "generated/ops/activation.h"
#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/unary.h"

namespace mt::formulas {

constexpr int64_t kNone = 0, kMean = 1;

Tensor one_of(const Tensor& like) { return ops::new_ones(like, {}); }

Tensor shared_out(const Tensor& gradient, int64_t reduction, int64_t count) {
  return reduction == kMean ? gradient * (1.0 / double(count)) : gradient;
}

Tensor loss_tangent(const Tensor& slope, const Tensor& tangent, int64_t reduction) {
  const Tensor each = slope * tangent;
  if (reduction == kNone) return each;
  return reduction == kMean ? ops::mean(each, DimList(), false, std::nullopt)
                            : ops::sum(each, DimList(), false, std::nullopt);
}

Tensor weighted(const Tensor& values, const Tensor& weight) {
  return weight.defined() ? values * weight : values;
}

Tensor smooth_l1_bend(const Tensor& factor, const Tensor& self, const Tensor& target, double beta) {
  const Tensor near = ops::lt(ops::abs(self - target), Scalar(std::fabs(beta)));
  return where(near, factor * (beta == 0 ? 0.0 : 1.0 / beta), Scalar(0));
}

Tensor huber_bend(const Tensor& factor, const Tensor& self, const Tensor& target, double delta) {
  return where(ops::le(ops::abs(self - target), Scalar(delta)), factor, Scalar(0));
}

Tensor cross_entropy_bend(const Tensor& factor, const Tensor& self, const Tensor& target) {
  const Tensor product = self * (1 - self), kept = ops::clamp_min(product, Scalar(1e-12));
  const Tensor bend = (self - target) * (1 - self * 2) / kept;
  return factor / kept * where(ops::lt(product, Scalar(1e-12)), Scalar(1), 1 - bend);
}

Tensor odds(const Tensor& self) {
  return ops::clamp_min(ops::log1p(-self), Scalar(-100)) - ops::clamp_min(ops::log(self), Scalar(-100));
}

Tensor logit_odds(const Tensor& self, const Tensor& pos_weight) {
  return pos_weight.defined() ? (1 - pos_weight) * ops::log_sigmoid(self) - self : -self;
}

Tensor logit_odds_slope(const Tensor& self, const Tensor& pos_weight) {
  const Tensor all = ops::ones_like(self);
  return pos_weight.defined() ? (1 - pos_weight) * ops::sigmoid(-self) - all : -all;
}

Tensor logit_bend(const Tensor& self, const Tensor& target, const Tensor& pos_weight) {
  const Tensor yes = ops::sigmoid(self), bend = yes * (1 - yes);
  return pos_weight.defined() ? bend * (1 - (1 - pos_weight) * target) : bend;
}

}  // namespace mt::formulas
