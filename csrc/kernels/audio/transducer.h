// The transducer's loss over all alignments of labels with time.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

struct TransducerOptions {
  int64_t blank;
  double clamp;  // of gradients, if positive
  bool fused;    // logits are normalised here; otherwise they are log probabilities
};

// logits [B, T, U + 1, classes]; targets [B, U] and both lengths [B] of int32. costs [B] and the gradients by the
// logits, 0 beyond the lengths.
void transducer_loss(const View& logits, const View& targets, const View& logit_lengths,
                     const View& target_lengths, const TransducerOptions& options, const View& costs,
                     const View& gradients);

}  // namespace mt::kernels
