// Negative log likelihood: the loss behind cross entropy.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

enum class Reduction { none, mean, sum };

// log_probs is [N, C] or [C], target int64 [N] or a single element; weight (or null) is [C]. Targets equal to
// ignore_index count nothing. out is [N] for Reduction::none, else one element; total_weight (one element)
// receives the sum of the weights that counted (0 for Reduction::none).
void nll_loss(const View& log_probs, const View& target, const View* weight, const View& out,
              const View& total_weight, Reduction reduction, int64_t ignore_index);
// grad_in is shaped like log_probs and is overwritten completely.
void nll_loss_backward(const View& grad_out, const View& target, const View* weight, const View& total_weight,
                       const View& grad_in, Reduction reduction, int64_t ignore_index);

// Cross entropy of log-probabilities [N, C] whose targets are smoothed: of each sample's probability, `smoothing` is
// spread evenly over all classes.
struct SmoothedTargets {
  View classes;        // int64 [N]
  const View* weight;  // [C], or null
  double smoothing;
  int64_t ignore_index;
};
void smoothed_nll_loss(const View& log_probs, const SmoothedTargets& targets, Reduction reduction,
                       const View& out);
// The gradient in the scores that the log-probabilities were made from. grad is [N] for Reduction::none, else one element.
void smoothed_nll_loss_backward(const View& grad, const View& log_probs, const SmoothedTargets& targets,
                                Reduction reduction, const View& grad_scores);

}  // namespace mt::kernels
