// Cross entropy and its gradient.
#include "kernels/loss/nll.h"
#include "kernels/softmax/softmax.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

DType wider(DType dtype) { return dtype == DType::float64 ? dtype : DType::float32; }

struct CrossEntropyCall {
  Operand classes;
  std::optional<Operand> weight;
  k::Reduction how;
  int64_t ignore_index;
  double smoothing;

  CrossEntropyCall(const Plan& plan, const Operand& scores, const Operand& target,
                   const std::optional<Operand>& weights, const char* reduction, int64_t ignore,
                   double smooth)
      : classes(target),
        weight(weights),
        how(reduction_of(plan, text_of(reduction, "mean"))),
        ignore_index(ignore),
        smoothing(smooth) {
    plan.require_ndim(scores, "input", 2);
    plan.require_dtype(scores, "input", domains::floating);
    plan.require_dtype(target, "target", domains::integral);
    plan.require_shape(target, "target", {scores.sizes[0]});
    if (weight) plan.require_shape(*weight, "weight", {scores.sizes[1]});
    if (!(smooth >= 0 && smooth <= 1)) plan.invalid("labelSmoothing is ", smooth, ", wanted 0 to 1");
  }
  void require_loss(const Plan& plan, const Operand& loss, const char* name, const Operand& scores) const {
    const int64_t count = how == k::Reduction::none ? scores.sizes[0] : 1;
    if (loss.numel() != count)
      plan.invalid("tensor '", name, "' has shape ", shape_text(loss), ", wanted ", count, " element(s)");
  }
  // Calls f(targets).
  template <class F>
  void with_targets(const aclOpExecutor& e, const F& f) const {
    const k::Dense named(classes.view(e), DType::int64, k::Access::read);
    const OptionalView weights(weight, e);
    f(k::SmoothedTargets{named.view(), weights.get(), smoothing, ignore_index});
  }
};

}  // namespace

void CrossEntropyLoss(Plan& plan, const aclTensor* input, const aclTensor* target,
                      const aclTensor* weightOptional, char* reductionOptional, int64_t ignoreIndex,
                      double labelSmoothing, double, bool returnZloss, const aclTensor* lossOut,
                      const aclTensor* logProbOut, const aclTensor* zlossOut,
                      const aclTensor* lseForZlossOut) {
  const Operand scores = plan.input(input, "input"), classes = plan.input(target, "target");
  const std::optional<Operand> weight = plan.optional_input(weightOptional, "weight");
  const Operand loss = plan.output(lossOut, "lossOut"), log_probs = plan.output(logProbOut, "logProbOut");
  optional_output(plan, zlossOut, "zlossOut");
  optional_output(plan, lseForZlossOut, "lseForZlossOut");
  if (returnZloss) plan.invalid("returnZloss is not supported by the software NPU");
  const CrossEntropyCall call(plan, scores, classes, weight, reductionOptional, ignoreIndex, labelSmoothing);
  call.require_loss(plan, loss, "lossOut", scores);
  plan.require_same_shape(scores, "input", log_probs, "logProbOut");
  plan.run([=](const aclOpExecutor& e) {
    const k::Temporary exact(sizes_of(scores), wider(scores.dtype));
    k::softmax(scores.view(e), exact.view(), 1, true);
    k::copy(exact.view(), log_probs.view(e));
    call.with_targets(e, [&](const k::SmoothedTargets& targets) {
      k::smoothed_nll_loss(exact.view(), targets, call.how, loss.view(e));
    });
  });
}

void CrossEntropyLossGrad(Plan& plan, const aclTensor* gradLoss, const aclTensor* logProb,
                          const aclTensor* target, const aclTensor* weightOptional,
                          const aclTensor* gradZlossOptional, const aclTensor* lseForZlossOptional,
                          char* reductionOptional, int64_t ignoreIndex, double labelSmoothing, double,
                          const aclTensor* out) {
  const Operand grad = plan.input(gradLoss, "gradLoss"), log_probs = plan.input(logProb, "logProb"),
                classes = plan.input(target, "target");
  const std::optional<Operand> weight = plan.optional_input(weightOptional, "weight");
  if (unless_empty(plan.optional_input(gradZlossOptional, "gradZloss")))
    plan.invalid("gradZloss is not supported by the software NPU");
  plan.optional_input(lseForZlossOptional, "lseForZloss");
  const Operand to = plan.output(out, "out");
  const CrossEntropyCall call(plan, log_probs, classes, weight, reductionOptional, ignoreIndex,
                              labelSmoothing);
  call.require_loss(plan, grad, "gradLoss", log_probs);
  plan.require_same_shape(log_probs, "logProb", to, "out");
  plan.run([=](const aclOpExecutor& e) {
    call.with_targets(e, [&](const k::SmoothedTargets& targets) {
      k::smoothed_nll_loss_backward(grad.view(e), log_probs.view(e), targets, call.how, to.view(e));
    });
  });
}

}  // namespace softnpu::ops
