// Connectionist temporal classification and its gradient.
#include "kernels/loss/ctc.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// Log-probabilities [T, N, C] or [T, C], as the kernel takes them.
struct CtcCall {
  Operand log_probs, targets;
  std::vector<int64_t> input_lengths, target_lengths;
  int64_t blank;
  bool zero_infinity;

  CtcCall(const Plan& plan, const Operand& probs, const Operand& labels, const aclIntArray* inputs,
          const aclIntArray* outputs, int64_t blank_class, bool zero)
      : log_probs(probs.ndim == 2 ? unsqueezed(probs, 1) : probs),
        targets(labels),
        input_lengths(int_list(plan, inputs, "inputLengths")),
        target_lengths(int_list(plan, outputs, "targetLengths")),
        blank(blank_class),
        zero_infinity(zero) {
    plan.require_ndim(log_probs, "logProbs", 3);
    plan.require_dtype(log_probs, "logProbs", domains::single_double);
    plan.require_dtype(targets, "targets", k::dtype_set(DType::int32, DType::int64));
    const size_t batch = size_t(log_probs.sizes[1]);
    if (input_lengths.size() != batch || target_lengths.size() != batch)
      plan.invalid("there are ", input_lengths.size(), " inputLengths and ", target_lengths.size(),
                   " targetLengths, wanted ", batch, " of each");
    if (blank < 0 || blank >= log_probs.sizes[2])
      plan.invalid("blank is ", blank, ", wanted one of the ", log_probs.sizes[2], " classes");
    int64_t total = 0;
    for (size_t n = 0; n < batch; ++n) {
      const int64_t length = target_lengths[n];
      if (input_lengths[n] < 0 || input_lengths[n] > log_probs.sizes[0])
        plan.invalid("inputLengths hold ", input_lengths[n], ", wanted 0 to ", log_probs.sizes[0]);
      if (length < 0 || (targets.ndim == 2 && length > targets.sizes[1]))
        plan.invalid("targetLengths hold ", length, " for targets of shape ", shape_text(targets));
      total += length;
    }
    const bool fits = targets.ndim == 2 ? targets.sizes[0] == int64_t(batch)
                                        : targets.ndim == 1 && targets.sizes[0] >= total;
    if (!fits)
      plan.invalid("tensor 'targets' has shape ", shape_text(targets), ", wanted [", batch, ", S] or ", total,
                   " labels in a row");
  }
  int64_t longest() const {
    return target_lengths.empty() ? 0 : *std::max_element(target_lengths.begin(), target_lengths.end());
  }
  void require_alpha(const Plan& plan, const Operand& alpha, const char* name) const {
    plan.require_ndim(alpha, name, 3);
    if (alpha.sizes[0] != log_probs.sizes[1] || alpha.sizes[1] < log_probs.sizes[0] ||
        alpha.sizes[2] < 2 * longest() + 1)
      plan.invalid("tensor '", name, "' has shape ", shape_text(alpha), ", wanted at least [",
                   log_probs.sizes[1], ", ", log_probs.sizes[0], ", ", 2 * longest() + 1, "]");
    plan.require_same_dtype(alpha, name, log_probs, "logProbs");
  }
  template <class F>
  void with_problem(const aclOpExecutor& e, const F& f) const {
    const k::Dense labels(targets.view(e), DType::int64, k::Access::read);
    f(k::CtcProblem{log_probs.view(e), labels.view(), input_lengths.data(), target_lengths.data(), blank,
                    zero_infinity});
  }
};

}  // namespace

void CtcLoss(Plan& plan, const aclTensor* logProbs, const aclTensor* targets, const aclIntArray* inputLengths,
             const aclIntArray* targetlengths, int64_t blank, bool zeroInfinity,
             aclTensor* negLogLikelihoodOut, aclTensor* logAlphaOut) {
  const Operand probs = plan.input(logProbs, "logProbs"), labels = plan.input(targets, "targets"),
                loss = plan.output(negLogLikelihoodOut, "negLogLikelihoodOut"),
                alpha = plan.output(logAlphaOut, "logAlphaOut");
  const CtcCall call(plan, probs, labels, inputLengths, targetlengths, blank, zeroInfinity);
  const Operand kept = alpha.ndim == 2 ? unsqueezed(alpha, 0) : alpha;
  call.require_alpha(plan, kept, "logAlphaOut");
  const Operand losses = loss.ndim == 0 ? unsqueezed(loss, 0) : loss;
  plan.require_shape(losses, "negLogLikelihoodOut", {call.log_probs.sizes[1]});
  plan.require_same_dtype(loss, "negLogLikelihoodOut", probs, "logProbs");
  plan.run([=](const aclOpExecutor& e) {
    const k::Dense table(kept.view(e), kept.dtype, k::Access::write);
    call.with_problem(
        e, [&](const k::CtcProblem& problem) { k::ctc_loss(problem, losses.view(e), table.view()); });
    table.store();
  });
}

void CtcLossBackward(Plan& plan, const aclTensor* gradOut, const aclTensor* logProbs,
                     const aclTensor* targets, const aclIntArray* inputLengths,
                     const aclIntArray* targetLengths, const aclTensor* negLogLikelihood,
                     const aclTensor* logAlpha, int64_t blank, bool zeroInfinity, aclTensor* out) {
  const Operand grad = plan.input(gradOut, "gradOut"), probs = plan.input(logProbs, "logProbs"),
                labels = plan.input(targets, "targets");
  plan.input(negLogLikelihood, "negLogLikelihood");
  const Operand alpha = plan.input(logAlpha, "logAlpha"), to = plan.output(out, "out");
  const CtcCall call(plan, probs, labels, inputLengths, targetLengths, blank, zeroInfinity);
  const Operand kept = alpha.ndim == 2 ? unsqueezed(alpha, 0) : alpha;
  call.require_alpha(plan, kept, "logAlpha");
  const Operand grads = grad.ndim == 0 ? unsqueezed(grad, 0) : grad;
  plan.require_shape(grads, "gradOut", {call.log_probs.sizes[1]});
  plan.require_same_dtype(grad, "gradOut", probs, "logProbs");
  plan.require_same_dtype(to, "out", probs, "logProbs");
  plan.require_same_shape(to, "out", probs, "logProbs");
  plan.run([=](const aclOpExecutor& e) {
    const k::Dense table(kept.view(e), kept.dtype, k::Access::read),
        dx(to.view(e), to.dtype, k::Access::write);
    call.with_problem(e, [&](const k::CtcProblem& problem) {
      k::ctc_loss_backward(problem, grads.view(e), table.view(), dx.view());
    });
    dx.store();
  });
}

}  // namespace softnpu::ops
