// Losses that compare two tensors element by element, and their gradients.
#pragma once

#include "kernels/common/view.h"
#include "kernels/loss/nll.h"

namespace mt::kernels {

enum class PointwiseLoss {
  square,           // (x - t)^2
  absolute,         // |x - t|
  smooth_absolute,  // quadratic within beta, divided by it
  huber,            // the same, not divided
  cross_entropy,    // of a probability, logarithms kept above -100
  logit_entropy,    // of the score of a probability
  divergence,       // Kullback-Leibler, target a probability
  log_divergence,   // target the logarithm of one
  soft_margin,      // log(1 + exp(-t x))
  hinge_embedding,  // x where t is 1, max(0, beta - x) where it is -1
  hinge,            // max(0, 1 - x t)
};

// What a loss takes besides its two tensors. All views broadcast to the shape of the two.
struct LossOptions {
  PointwiseLoss kind;
  double beta = 1;                   // width of the smooth part, or margin
  const View* weight = nullptr;      // of each element
  const View* pos_weight = nullptr;  // logit_entropy: of the answer yes
};

// in and target broadcast to one shape. out has it for Reduction::none, else one element. Any floating dtypes; computed in
// float, or double if either is.
void pointwise_loss(const View& in, const View& target, const LossOptions& options, Reduction reduction,
                    const View& out);
// grad is one element or has that shape, and so has the result.
void pointwise_loss_backward(const View& grad, const View& in, const View& target, const LossOptions& options,
                             Reduction reduction, const View& grad_in);
// The derivative in the target; logit_entropy and the divergences have one.
void pointwise_loss_target_backward(const View& grad, const View& in, const View& target,
                                    const LossOptions& options, Reduction reduction, const View& grad_target);

// in [N, C], target [N, C]: classes in a row, ended by a negative number. is_target marks the classes named.
void multilabel_margin_loss(const View& in, const View& target, Reduction reduction, const View& out,
                            const View& is_target);

}  // namespace mt::kernels
