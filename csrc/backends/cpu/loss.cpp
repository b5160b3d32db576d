#include "generated/cpu/loss.h"

#include "backends/cpu/kernel_view.h"
#include "kernels/loss/ctc.h"
#include "kernels/loss/nll.h"

namespace mt::cpu {

void nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
              int64_t ignore_index, const Tensor& output, const Tensor& total_weight) {
  const kernels::View w = weight.defined() ? view(weight) : kernels::View{};
  kernels::nll_loss(view(self), view(target), weight.defined() ? &w : nullptr, view(output),
                    view(total_weight), kernels::Reduction(reduction), ignore_index);
}
void nll_loss_backward(const Tensor& grad, const Tensor&, const Tensor& target, const Tensor& weight,
                       int64_t reduction, int64_t ignore_index, const Tensor& total_weight,
                       const Tensor& out) {
  const kernels::View w = weight.defined() ? view(weight) : kernels::View{};
  kernels::nll_loss_backward(view(grad), view(target), weight.defined() ? &w : nullptr, view(total_weight),
                             view(out), kernels::Reduction(reduction), ignore_index);
}

void ctc_loss_forward(const Tensor& log_probs, const Tensor& targets, IntList input_lengths,
                      IntList target_lengths, int64_t blank, bool zero_infinity, const Tensor& loss,
                      const Tensor& log_alpha) {
  const Tensor labels = as_long(targets);
  const kernels::CtcProblem problem{view(log_probs),       view(labels), input_lengths.data(),
                                    target_lengths.data(), blank,        zero_infinity};
  into_dense(log_alpha, [&](const Tensor& alpha) { kernels::ctc_loss(problem, view(loss), view(alpha)); });
}

void ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                       IntList input_lengths, IntList target_lengths, const Tensor&, const Tensor& log_alpha,
                       int64_t blank, bool zero_infinity, const Tensor& out) {
  const Tensor labels = as_long(targets);
  const kernels::CtcProblem problem{view(log_probs),       view(labels), input_lengths.data(),
                                    target_lengths.data(), blank,        zero_infinity};
  into_dense(out, [&](const Tensor& result) {
    kernels::ctc_loss_backward(problem, view(grad), view(dense(log_alpha)), view(result));
  });
}

}  // namespace mt::cpu
