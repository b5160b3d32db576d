// Connectionist temporal classification: the sum over all alignments of a label sequence with the input steps.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// What both directions read. log_probs is [T, N, C] with any strides; targets is int64 [N, S] (any strides) or the
// samples' targets one after the other.
struct CtcProblem {
  View log_probs, targets;
  const int64_t *input_lengths, *target_lengths;
  int64_t blank;
  bool zero_infinity;
};

// loss is [N]; log_alpha [N, T, 2 S + 1], dense, is kept for the backward pass.
void ctc_loss(const CtcProblem& problem, const View& loss, const View& log_alpha);
// The gradient in `out`, shaped like log_probs and dense. As everywhere it is that of scores which went through
// log_softmax.
void ctc_loss_backward(const CtcProblem& problem, const View& grad, const View& log_alpha, const View& out);

}  // namespace mt::kernels
