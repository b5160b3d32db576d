// Gradients of losses.
#pragma once

#include <tuple>

#include "autograd/formulas/common.h"

namespace mt::formulas {

template <class... T>
const Tensor& element_of(const std::tuple<T...>& results) {
  return std::get<0>(results);
}

// Losses of two tensors, element by element, with a reduction.

Tensor one_of(const Tensor& like);
// What each element has of a gradient of the reduced loss.
Tensor shared_out(const Tensor& gradient, int64_t reduction, int64_t count);
// The reduced loss of elements that move by `tangent`.
Tensor loss_tangent(const Tensor& slope, const Tensor& tangent, int64_t reduction);
Tensor weighted(const Tensor& values, const Tensor& weight);
// Second derivatives, times a factor.
Tensor smooth_l1_bend(const Tensor& factor, const Tensor& self, const Tensor& target, double beta);
Tensor huber_bend(const Tensor& factor, const Tensor& self, const Tensor& target, double delta);
Tensor cross_entropy_bend(const Tensor& factor, const Tensor& self, const Tensor& target);
// log((1 - x) / x), each logarithm kept above -100.
Tensor odds(const Tensor& self);
// Of the cross entropy of a sigmoid: its slope in the target, that of the slope in the target, and its bend in the score.
Tensor logit_odds(const Tensor& self, const Tensor& pos_weight);
Tensor logit_odds_slope(const Tensor& self, const Tensor& pos_weight);
Tensor logit_bend(const Tensor& self, const Tensor& target, const Tensor& pos_weight);

}  // namespace mt::formulas
