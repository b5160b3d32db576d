#include "generated/cpu/audio.h"

#include "backends/cpu/kernel_view.h"
#include "core/views.h"
#include "kernels/audio/sequences.h"
#include "kernels/audio/transducer.h"

namespace mt::cpu {

void rnnt_loss_forward(const Tensor& logits, const Tensor& targets, const Tensor& logit_lengths,
                       const Tensor& target_lengths, int64_t blank, double clamp, bool fused,
                       const Tensor& result0, const Tensor& result1) {
  kernels::transducer_loss(view(logits), view(targets), view(logit_lengths), view(target_lengths),
                           {blank, clamp, fused}, view(result0), view(result1));
}

void forced_align(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                  const Tensor& target_lengths, int64_t blank, const Tensor& result0, const Tensor& result1) {
  MT_CHECK(item(input_lengths).to<int64_t>() == log_probs.sizes()[1], "input length mismatch");
  MT_CHECK(item(target_lengths).to<int64_t>() == targets.sizes()[1], "target length mismatch");
  kernels::align_labels(view(views::select(log_probs, 0, 0)), view(views::select(targets, 0, 0)), blank,
                        view(views::select(result0, 0, 0)));
  kernels::copy(view(log_probs), view(result1));
}

void lfilter_core_loop(const Tensor& input, const Tensor& coefficients, const Tensor& padded) {
  kernels::recursive_filter(view(input), view(coefficients), view(padded));
}

}  // namespace mt::cpu
