// Losses that compare two tensors element by element, and their gradients.
#include "kernels/loss/pointwise.h"

#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

using k::PointwiseLoss;

struct LossCall {
  PointwiseLoss kind;
  double beta = 1;
  const aclTensor* weight = nullptr;
  const aclTensor* pos_weight = nullptr;
};

// The options with their tensors, ready to be seen when the operator runs.
struct PlannedOptions {
  PointwiseLoss kind;
  double beta;
  std::optional<Operand> weight, pos_weight;

  PlannedOptions(Plan& plan, const LossCall& call, const Operand& in)
      : kind(call.kind),
        beta(call.beta),
        weight(plan.optional_input(call.weight, "weight")),
        pos_weight(plan.optional_input(call.pos_weight, "posWeight")) {
    if (weight) plan.require_broadcast(*weight, "weight", in);
    if (pos_weight) plan.require_broadcast(*pos_weight, "posWeight", in);
  }
};

// Two tensors that broadcast to each other's shape, as the loss sees them: with all the elements.
Operand broadcast_to(const Operand& operand, const std::vector<int64_t>& sizes) {
  Operand result = operand;
  result.ndim = int16_t(sizes.size());
  for (int i = 1; i <= int(sizes.size()); ++i) {
    const int at = operand.ndim - i, to = result.ndim - i;
    const bool repeats = at < 0 || operand.sizes[at] == 1;
    result.sizes[to] = sizes[size_t(to)];
    result.strides[to] = repeats ? 0 : operand.strides[at];
  }
  return result;
}
std::vector<int64_t> joint_shape(const Plan& plan, const Operand& a, const Operand& b) {
  std::vector<int64_t> sizes(size_t(std::max(a.ndim, b.ndim)), 1);
  for (int i = 1; i <= int(sizes.size()); ++i) {
    const int64_t x = i <= a.ndim ? a.sizes[a.ndim - i] : 1, y = i <= b.ndim ? b.sizes[b.ndim - i] : 1;
    if (x != y && x != 1 && y != 1)
      plan.invalid("tensors 'self' and 'target' of shapes ", shape_text(a), " and ", shape_text(b),
                   " cannot be broadcast together");
    sizes[sizes.size() - size_t(i)] = x == 1 ? y : x;
  }
  return sizes;
}

struct Pair {
  Operand in, target;
  Pair(const Plan& plan, const Operand& x, const Operand& t) {
    plan.require_dtype(x, "self", domains::floating);
    plan.require_dtype(t, "target", domains::floating | domains::integral_bool);
    const std::vector<int64_t> sizes = joint_shape(plan, x, t);
    in = broadcast_to(x, sizes), target = broadcast_to(t, sizes);
  }
};

void loss(Plan& plan, const LossCall& call, const aclTensor* self, const aclTensor* target, k::Reduction how,
          const aclTensor* out) {
  const Operand x = plan.input(self, "self"), t = plan.input(target, "target");
  const Pair pair(plan, x, t);
  const PlannedOptions options(plan, call, pair.in);
  const Operand to = plan.output(out, "out");
  plan.require_dtype(to, "out", domains::floating);
  if (how == k::Reduction::none) plan.require_same_shape(to, "out", pair.in, "self");
  else if (to.numel() != 1) plan.invalid("tensor 'out' has shape ", shape_text(to), ", wanted one element");
  plan.run([=](const aclOpExecutor& e) {
    const OptionalView weight(options.weight, e), pos_weight(options.pos_weight, e);
    k::pointwise_loss(pair.in.view(e), pair.target.view(e),
                      {options.kind, options.beta, weight.get(), pos_weight.get()}, how, to.view(e));
  });
}

void loss_backward(Plan& plan, const LossCall& call, const aclTensor* gradOutput, const aclTensor* self,
                   const aclTensor* target, k::Reduction how, const aclTensor* out, bool of_target = false) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), x = plan.input(self, "self"),
                t = plan.input(target, "target");
  const Pair pair(plan, x, t);
  const PlannedOptions options(plan, call, pair.in);
  const Operand to = plan.output(out, "out");
  plan.require_dtype(grad, "gradOutput", domains::floating);
  plan.require_dtype(to, "out", domains::floating);
  plan.require_same_shape(to, "out", pair.in, "self");
  plan.require_broadcast(grad, "gradOutput", pair.in);
  plan.run([=](const aclOpExecutor& e) {
    const OptionalView weight(options.weight, e), pos_weight(options.pos_weight, e);
    const k::LossOptions seen{options.kind, options.beta, weight.get(), pos_weight.get()};
    const auto backward = of_target ? k::pointwise_loss_target_backward : k::pointwise_loss_backward;
    backward(grad.view(e), pair.in.view(e), pair.target.view(e), seen, how, to.view(e));
  });
}

PointwiseLoss divergence(bool log_target) {
  return log_target ? PointwiseLoss::log_divergence : PointwiseLoss::divergence;
}
// A width of 0 is the plain absolute value.
LossCall smooth(const Plan& plan, float beta) {
  if (!(beta >= 0)) plan.invalid("beta is ", beta, ", wanted at least 0");
  return {beta == 0 ? PointwiseLoss::absolute : PointwiseLoss::smooth_absolute, double(beta)};
}

}  // namespace

void MseLoss(Plan& plan, const aclTensor* self, const aclTensor* target, int64_t reduction, aclTensor* out) {
  loss(plan, {PointwiseLoss::square}, self, target, reduction_of(plan, reduction), out);
}
void MseLossOut(Plan& plan, const aclTensor* self, const aclTensor* target, int64_t reduction,
                aclTensor* out) {
  loss(plan, {PointwiseLoss::square}, self, target, reduction_of(plan, reduction), out);
}
void MseLossBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self, const aclTensor* target,
                     int64_t reduction, aclTensor* out) {
  loss_backward(plan, {PointwiseLoss::square}, gradOutput, self, target, reduction_of(plan, reduction), out);
}
void L1Loss(Plan& plan, const aclTensor* self, const aclTensor* target, int64_t reduction, aclTensor* out) {
  loss(plan, {PointwiseLoss::absolute}, self, target, reduction_of(plan, reduction), out);
}
void L1LossBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self, const aclTensor* target,
                    int64_t reduction, aclTensor* gradInput) {
  loss_backward(plan, {PointwiseLoss::absolute}, gradOutput, self, target, reduction_of(plan, reduction),
                gradInput);
}
void SmoothL1Loss(Plan& plan, const aclTensor* self, const aclTensor* target, int64_t reduction, float beta,
                  aclTensor* result) {
  loss(plan, smooth(plan, beta), self, target, reduction_of(plan, reduction), result);
}
void SmoothL1LossBackward(Plan& plan, const aclTensor* gradOut, const aclTensor* self,
                          const aclTensor* target, int64_t reduction, float beta, aclTensor* gradInput) {
  loss_backward(plan, smooth(plan, beta), gradOut, self, target, reduction_of(plan, reduction), gradInput);
}
void SoftMarginLoss(Plan& plan, const aclTensor* self, const aclTensor* target, int64_t reduction,
                    aclTensor* out) {
  loss(plan, {PointwiseLoss::soft_margin}, self, target, reduction_of(plan, reduction), out);
}
void SoftMarginLossBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                            const aclTensor* target, int64_t reduction, aclTensor* out) {
  loss_backward(plan, {PointwiseLoss::soft_margin}, gradOutput, self, target, reduction_of(plan, reduction),
                out);
}
void KlDiv(Plan& plan, const aclTensor* self, const aclTensor* target, int64_t reduction, bool logTarget,
           aclTensor* out) {
  loss(plan, {divergence(logTarget)}, self, target, reduction_of(plan, reduction), out);
}
void KlDivBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self, const aclTensor* target,
                   int64_t reduction, bool logTarget, aclTensor* out) {
  loss_backward(plan, {divergence(logTarget)}, gradOutput, self, target, reduction_of(plan, reduction), out);
}
void KlDivTargetBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                         const aclTensor* target, int64_t reduction, bool logTarget, aclTensor* gradTarget) {
  loss_backward(plan, {divergence(logTarget)}, gradOutput, self, target, reduction_of(plan, reduction),
                gradTarget, true);
}
void BinaryCrossEntropy(Plan& plan, const aclTensor* self, const aclTensor* target, const aclTensor* weight,
                        int64_t reduction, aclTensor* out) {
  loss(plan, {PointwiseLoss::cross_entropy, 1, weight}, self, target, reduction_of(plan, reduction), out);
}
void BinaryCrossEntropyBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                                const aclTensor* target, const aclTensor* weightOptional, int64_t reduction,
                                aclTensor* out) {
  loss_backward(plan, {PointwiseLoss::cross_entropy, 1, weightOptional}, gradOutput, self, target,
                reduction_of(plan, reduction), out);
}
void BinaryCrossEntropyWithLogits(Plan& plan, const aclTensor* self, const aclTensor* target,
                                  const aclTensor* weightOptional, const aclTensor* posWeightOptional,
                                  int64_t reduction, aclTensor* out) {
  loss(plan, {PointwiseLoss::logit_entropy, 1, weightOptional, posWeightOptional}, self, target,
       reduction_of(plan, reduction), out);
}
void BinaryCrossEntropyWithLogitsBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                                          const aclTensor* target, const aclTensor* weightOptional,
                                          const aclTensor* posWeightOptional, int64_t reduction,
                                          aclTensor* out) {
  loss_backward(plan, {PointwiseLoss::logit_entropy, 1, weightOptional, posWeightOptional}, gradOutput, self,
                target, reduction_of(plan, reduction), out);
}
void BinaryCrossEntropyWithLogitsTargetBackward(Plan& plan, const aclTensor* gradOutput,
                                                const aclTensor* self, const aclTensor* target,
                                                const aclTensor* weightOptional,
                                                const aclTensor* posWeightOptional, int64_t reduction,
                                                aclTensor* gradTarget) {
  loss_backward(plan, {PointwiseLoss::logit_entropy, 1, weightOptional, posWeightOptional}, gradOutput, self,
                target, reduction_of(plan, reduction), gradTarget, true);
}
void HingeEmbeddingLoss(Plan& plan, const aclTensor* input, const aclTensor* target, double margin,
                        char* reduction, const aclTensor* lossOut) {
  loss(plan, {PointwiseLoss::hinge_embedding, margin}, input, target,
       reduction_of(plan, text_of(reduction, "mean")), lossOut);
}

void MultilabelMarginLoss(Plan& plan, const aclTensor* self, const aclTensor* target, int64_t reduction,
                          aclTensor* out, aclTensor* isTarget) {
  const Operand in = plan.input(self, "self"), classes = plan.input(target, "target"),
                to = plan.output(out, "out"), marks = plan.output(isTarget, "isTarget");
  const k::Reduction how = reduction_of(plan, reduction);
  plan.require_dtype(in, "self", domains::floating);
  plan.require_dtype(to, "out", domains::floating);
  plan.require_dtype(classes, "target", domains::integral);
  plan.require_same_shape(in, "self", classes, "target");
  plan.require_same_shape(in, "self", marks, "isTarget");
  if (in.ndim > 2) plan.invalid("tensor 'self' has shape ", shape_text(in), ", wanted [N, C] or [C]");
  const int64_t wanted = how == k::Reduction::none && in.ndim == 2 ? in.sizes[0] : 1;
  if (to.numel() != wanted)
    plan.invalid("tensor 'out' has shape ", shape_text(to), ", wanted ", wanted, " element(s)");
  plan.run([=](const aclOpExecutor& e) {
    k::multilabel_margin_loss(in.view(e), classes.view(e), how, to.view(e), marks.view(e));
  });
}

}  // namespace softnpu::ops
