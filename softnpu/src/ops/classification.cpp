// Cross entropy, CTC and the forms of softmax that are fused with masks.
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/loss/ctc.h"
#include "kernels/loss/nll.h"
#include "kernels/softmax/softmax.h"
#include "op_plans.h"
#include "ops/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

constexpr DTypeSet kDomain = domains::floating;

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
    plan.require_dtype(scores, "input", kDomain);
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

void LogSoftmaxV2(Plan& plan, const aclTensor* self, int64_t dim, aclTensor* out) {
  LogSoftmax(plan, self, dim, out);
}
void SoftmaxGrad(Plan& plan, const aclTensor* y, const aclTensor* dy, aclTensor* dx) {
  const Operand result = plan.input(y, "y"), grad = plan.input(dy, "dy"), to = plan.output(dx, "dx");
  plan.require_dtype(grad, "dy", kDomain);
  plan.require_dtype(result, "y", kDomain);
  plan.require_dtype(to, "dx", kDomain);
  plan.require_same_shape(result, "y", grad, "dy");
  plan.require_same_shape(result, "y", to, "dx");
  if (result.ndim == 0) plan.invalid("tensor 'y' is a scalar, wanted at least 1 dimension");
  plan.run([=](const aclOpExecutor& e) {
    k::softmax_backward(grad.view(e), result.view(e), to.view(e), result.ndim - 1, false);
  });
}

namespace {

View number_view(const double& value) {
  return {const_cast<double*>(&value), nullptr, nullptr, 0, DType::float64};
}

// What is hidden gets this score: not minus infinity, so that a row that sees nothing stays finite.
constexpr double kHiddenScore = -10000;

void require_mask(const Plan& plan, const Operand& x, const Operand& mask, bool fixed_triangle) {
  plan.require_dtype(x, "x", kDomain);
  plan.require_dtype(mask, "mask", k::dtype_set(DType::boolean, DType::uint8));
  plan.require_broadcast(mask, "mask", x);
  if (x.ndim == 0) plan.invalid("tensor 'x' is a scalar, wanted at least 1 dimension");
  if (fixed_triangle) plan.invalid("fixedTriuMask must be false, as on the card");
}

}  // namespace

void ScaledMaskedSoftmax(Plan& plan, const aclTensor* x, const aclTensor* mask, double scale,
                         bool fixedTriuMask, aclTensor* y) {
  const Operand in = plan.input(x, "x"), hidden = plan.input(mask, "mask"), to = plan.output(y, "y");
  require_mask(plan, in, hidden, fixedTriuMask);
  plan.require_dtype(to, "y", kDomain);
  plan.require_same_shape(in, "x", to, "y");
  plan.run([=](const aclOpExecutor& e) {
    const k::Temporary scores(sizes_of(in), wider(in.dtype));
    k::binary<k::mul_op>(in.view(e), number_view(scale), scores.view(), wider(in.dtype), nullptr);
    k::where(hidden.view(e), number_view(kHiddenScore), scores.view(), scores.view());
    k::softmax(scores.view(), to.view(e), in.ndim - 1, false);
  });
}

void ScaledMaskedSoftmaxBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* y,
                                 const aclTensor* mask, double scale, bool fixTriuMask, aclTensor* out) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), result = plan.input(y, "y"),
                hidden = plan.input(mask, "mask"), to = plan.output(out, "out");
  require_mask(plan, grad, hidden, fixTriuMask);
  plan.require_same_shape(grad, "gradOutput", result, "y");
  plan.require_same_shape(grad, "gradOutput", to, "out");
  plan.require_dtype(result, "y", kDomain);
  plan.require_dtype(to, "out", kDomain);
  plan.run([=](const aclOpExecutor& e) {
    const DType compute = wider(grad.dtype);
    const k::Temporary slopes(sizes_of(grad), compute);
    k::softmax_backward(grad.view(e), result.view(e), slopes.view(), grad.ndim - 1, false);
    k::binary<k::mul_op>(slopes.view(), number_view(scale), slopes.view(), compute, nullptr);
    const double zero = 0;
    k::where(hidden.view(e), number_view(zero), slopes.view(), to.view(e));
  });
}

// x is [B, W, N, S1, S2] with a mask for each of the W windows, or [B, N, S1, S2] without; the bias belongs to the heads.
void MaskedSoftmaxWithRelPosBias(Plan& plan, const aclTensor* x, const aclTensor* attenMaskOptional,
                                 const aclTensor* relativePosBias, double scaleValue, int64_t,
                                 const aclTensor* out) {
  const Operand in = plan.input(x, "x");
  std::optional<Operand> mask = plan.optional_input(attenMaskOptional, "attenMask");
  const Operand bias = plan.input(relativePosBias, "relativePosBias"), to = plan.output(out, "out");
  plan.require_dtype(in, "x", kDomain);
  plan.require_dtype(bias, "relativePosBias", kDomain);
  plan.require_dtype(to, "out", kDomain);
  plan.require_same_shape(in, "x", to, "out");
  if (in.ndim != 4 && in.ndim != 5)
    plan.invalid("tensor 'x' has shape ", shape_text(in), ", wanted 4 or 5 dimensions");
  plan.require_broadcast(bias, "relativePosBias", in);
  if (mask && mask->ndim == 3) mask = unsqueezed(*mask, 1);
  if (mask) plan.require_dtype(*mask, "attenMask", kDomain);
  if (mask) plan.require_broadcast(*mask, "attenMask", in);
  plan.run([=](const aclOpExecutor& e) {
    const DType compute = wider(in.dtype);
    const Scalar one(1.0);
    const k::Temporary scores(sizes_of(in), compute);
    k::binary<k::mul_op>(in.view(e), number_view(scaleValue), scores.view(), compute, nullptr);
    if (mask) k::binary<k::add_op>(scores.view(), mask->view(e), scores.view(), compute, &one);
    k::binary<k::add_op>(scores.view(), bias.view(e), scores.view(), compute, &one);
    k::softmax(scores.view(), to.view(e), in.ndim - 1, false);
  });
}

}  // namespace softnpu::ops
