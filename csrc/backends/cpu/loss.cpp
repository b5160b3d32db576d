#include "generated/cpu/loss.h"

#include "backends/cpu/kernel_view.h"
#include "kernels/loss/ctc.h"
#include "kernels/loss/nll.h"
#include "kernels/loss/pointwise.h"

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

namespace {

using kernels::LossOptions, kernels::PointwiseLoss;

void loss(const LossOptions& options, const Tensor& self, const Tensor& target, int64_t reduction,
          const Tensor& out) {
  kernels::pointwise_loss(view(self), view(target), options, kernels::Reduction(reduction), view(out));
}
void loss_backward(const LossOptions& options, const Tensor& grad, const Tensor& self, const Tensor& target,
                   int64_t reduction, const Tensor& out) {
  kernels::pointwise_loss_backward(view(grad), view(self), view(target), options,
                                   kernels::Reduction(reduction), view(out));
}
// A tensor that may be absent, as options take it.
class MaybeView {
 public:
  explicit MaybeView(const Tensor& tensor)
      : view_(tensor.defined() ? view(tensor) : kernels::View{}), given_(tensor.defined()) {}
  const kernels::View* get() const { return given_ ? &view_ : nullptr; }

 private:
  kernels::View view_;
  bool given_;
};
// A width of 0 is the plain absolute value.
LossOptions smooth(double beta) {
  return {beta == 0 ? PointwiseLoss::absolute : PointwiseLoss::smooth_absolute, beta};
}

}  // namespace

void mse_loss(const Tensor& self, const Tensor& target, int64_t reduction, const Tensor& out) {
  loss({PointwiseLoss::square}, self, target, reduction, out);
}
void mse_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                       const Tensor& out) {
  loss_backward({PointwiseLoss::square}, grad, self, target, reduction, out);
}
void smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta,
                    const Tensor& out) {
  loss(smooth(beta), self, target, reduction, out);
}
void smooth_l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                             double beta, const Tensor& out) {
  loss_backward(smooth(beta), grad, self, target, reduction, out);
}
void huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta,
                const Tensor& out) {
  loss({PointwiseLoss::huber, delta}, self, target, reduction, out);
}
void huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                         double delta, const Tensor& out) {
  loss_backward({PointwiseLoss::huber, delta}, grad, self, target, reduction, out);
}
void binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                          const Tensor& out) {
  const MaybeView w(weight);
  loss({PointwiseLoss::cross_entropy, 1, w.get()}, self, target, reduction, out);
}
void binary_cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                   const Tensor& weight, int64_t reduction, const Tensor& out) {
  const MaybeView w(weight);
  loss_backward({PointwiseLoss::cross_entropy, 1, w.get()}, grad, self, target, reduction, out);
}
void binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                      const Tensor& pos_weight, int64_t reduction, const Tensor& out) {
  const MaybeView w(weight), pos(pos_weight);
  loss({PointwiseLoss::logit_entropy, 1, w.get(), pos.get()}, self, target, reduction, out);
}
void binary_cross_entropy_with_logits_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                               const Tensor& weight, const Tensor& pos_weight,
                                               int64_t reduction, const Tensor& out) {
  const MaybeView w(weight), pos(pos_weight);
  loss_backward({PointwiseLoss::logit_entropy, 1, w.get(), pos.get()}, grad, self, target, reduction, out);
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
