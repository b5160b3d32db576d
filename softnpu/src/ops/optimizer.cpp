// Steps of optimizers in one pass over a parameter and its state, and the scale of mixed-precision training.
#include "kernels/optimizer/optimizer.h"

#include <cmath>

#include "kernels/common/copy.h"
#include "op_plans.h"
#include "ops/common/elements.h"
#include "ops/foreach/foreach.h"

namespace softnpu::ops {

namespace {

// A tensor that holds one number.
Operand number_of(Plan& plan, const aclTensor* tensor, const char* name) {
  const Operand operand = plan.input(tensor, name);
  plan.require_dtype(operand, name, domains::real);
  if (operand.numel() != 1)
    plan.invalid("tensor '", name, "' has shape ", shape_text(operand), ", wanted one element");
  return operand;
}
double value_of(const Operand& number, const aclOpExecutor& e) {
  return element(number.view(e), 0).to<double>();
}

void require_like(const Plan& plan, const Operand& tensor, const char* name, const Operand& parameter) {
  plan.require_dtype(tensor, name, domains::floating);
  plan.require_same_shape(tensor, name, parameter, "the parameter");
}

struct AdamState {
  Operand parameter, mean, square;
  std::optional<Operand> largest;
  Operand gradient;
};

void require_state(const Plan& plan, const AdamState& s, bool amsgrad) {
  plan.require_dtype(s.parameter, "the parameter", domains::floating);
  require_like(plan, s.mean, "m", s.parameter);
  require_like(plan, s.square, "v", s.parameter);
  require_like(plan, s.gradient, "grad", s.parameter);
  if (amsgrad && !s.largest) plan.invalid("amsgrad is set, but the tensor of the largest squares is NULL");
  if (s.largest && amsgrad) require_like(plan, *s.largest, "the largest squares", s.parameter);
}

k::AdamTensors tensors_of(const AdamState& s, const k::AdamStep& step, bool amsgrad, const aclOpExecutor& e) {
  return {s.parameter.view(e),
          s.gradient.view(e),
          s.mean.view(e),
          s.square.view(e),
          amsgrad ? s.largest->view(e) : View{},
          step};
}

void run_adam(const AdamState& s, const k::AdamStep& step, bool amsgrad, const aclOpExecutor& e) {
  const k::AdamTensors tensors = tensors_of(s, step, amsgrad, e);
  k::adam({&tensors, 1}, amsgrad, 1.0);
}

// The lists of a fused optimizer, one entry per parameter.
void fused_adam(Plan& plan, const aclTensorList* params, const aclTensorList* grads,
                const aclTensorList* means, const aclTensorList* squares, const aclTensorList* largest,
                const aclTensorList* steps, const aclTensor* grad_scale, const aclTensor* found_inf,
                k::AdamStep rule, bool amsgrad) {
  const lists::Operands p = plan.outputs(params, "paramsRef"), g = plan.outputs(grads, "grads"),
                        m = plan.outputs(means, "expAvgsRef"), v = plan.outputs(squares, "expAvgSqsRef");
  const lists::Operands top = amsgrad ? plan.outputs(largest, "maxExpAvgSqsRef") : lists::Operands();
  const lists::Operands t = plan.inputs(steps, "stateSteps");
  const std::optional<Operand> scale = plan.optional_input(grad_scale, "gradScaleOptional"),
                               inf = plan.optional_input(found_inf, "foundInfOptional");
  lists::require_length(plan, g.size(), "grads", p.size());
  lists::require_length(plan, m.size(), "expAvgsRef", p.size());
  lists::require_length(plan, v.size(), "expAvgSqsRef", p.size());
  lists::require_length(plan, t.size(), "stateSteps", p.size());
  if (amsgrad) lists::require_length(plan, top.size(), "maxExpAvgSqsRef", p.size());
  std::vector<AdamState> states;
  for (size_t i = 0; i < p.size(); ++i) {
    states.push_back({p[i], m[i], v[i], amsgrad ? std::optional(top[i]) : std::nullopt, g[i]});
    require_state(plan, states[i], amsgrad);
    if (t[i].numel() < 1) plan.invalid("a tensor of 'stateSteps' has no elements");
  }
  plan.run([=](const aclOpExecutor& e) {
    if (inf && value_of(*inf, e) == 1) return;
    std::vector<k::AdamTensors> tensors;
    for (size_t i = 0; i < states.size(); ++i) {
      k::AdamStep step = rule;
      const double now = value_of(t[i], e) + 1;  // the steps before this one are counted
      step.correction1 = 1 - std::pow(rule.beta1, now);
      step.correction2 = 1 - std::pow(rule.beta2, now);
      tensors.push_back(tensors_of(states[i], step, amsgrad, e));
    }
    k::adam(tensors, amsgrad, scale ? value_of(*scale, e) : 1.0);
  });
}

}  // namespace

// The powers are those of the step before.
void ApplyAdamW(Plan& plan, aclTensor* varRef, aclTensor* mRef, aclTensor* vRef, const aclTensor* beta1Power,
                const aclTensor* beta2Power, const aclTensor* lr, const aclTensor* weightDecay,
                const aclTensor* beta1, const aclTensor* beta2, const aclTensor* eps, const aclTensor* grad,
                const aclTensor* maxGradNormOptional, bool amsgrad, bool maximize) {
  AdamState s{
      plan.output(varRef, "varRef"), plan.output(mRef, "mRef"), plan.output(vRef, "vRef"), std::nullopt, {}};
  enum { kPower1, kPower2, kRate, kDecay, kBeta1, kBeta2, kEpsilon };
  std::vector<Operand> numbers;  // not captured one by one: an executor's closure has little room
  for (const auto& [tensor, name] :
       {std::pair(beta1Power, "beta1Power"), std::pair(beta2Power, "beta2Power"), std::pair(lr, "lr"),
        std::pair(weightDecay, "weightDecay"), std::pair(beta1, "beta1"), std::pair(beta2, "beta2"),
        std::pair(eps, "eps")})
    numbers.push_back(number_of(plan, tensor, name));
  s.gradient = plan.input(grad, "grad");
  s.largest = plan.optional_output(maxGradNormOptional, "maxGradNormOptional");
  require_state(plan, s, amsgrad);
  plan.run([=](const aclOpExecutor& e) {
    const auto value = [&](int which) { return value_of(numbers[size_t(which)], e); };
    const k::AdamStep step{value(kRate),
                           value(kBeta1),
                           value(kBeta2),
                           value(kEpsilon),
                           value(kDecay),
                           1 - value(kPower1) * value(kBeta1),
                           1 - value(kPower2) * value(kBeta2),
                           true,
                           maximize};
    run_adam(s, step, amsgrad, e);
  });
}

void ApplyAdamWV2(Plan& plan, aclTensor* varRef, aclTensor* mRef, aclTensor* vRef,
                  aclTensor* maxGradNormOptionalRef, const aclTensor* grad, const aclTensor* step, float lr,
                  float beta1, float beta2, float weightDecay, float eps, bool amsgrad, bool maximize) {
  AdamState s{plan.output(varRef, "varRef"),
              plan.output(mRef, "mRef"),
              plan.output(vRef, "vRef"),
              plan.optional_output(maxGradNormOptionalRef, "maxGradNormOptionalRef"),
              {}};
  s.gradient = plan.input(grad, "grad");
  const Operand before = number_of(plan, step, "step");  // it counts the steps that were made
  require_state(plan, s, amsgrad);
  plan.run([=](const aclOpExecutor& e) {
    const double now = value_of(before, e) + 1;
    const k::AdamStep rule{lr,
                           beta1,
                           beta2,
                           eps,
                           weightDecay,
                           1 - std::pow(double(beta1), now),
                           1 - std::pow(double(beta2), now),
                           true,
                           maximize};
    run_adam(s, rule, amsgrad, e);
  });
}

// Adam as TensorFlow has it: epsilon is added before the correction of the squares, which the rate makes up for.
void ApplyAdam(Plan& plan, aclTensor* varRef, const aclTensor* m, const aclTensor* v,
               const aclTensor* beta1Power, const aclTensor* beta2Power, const aclTensor* lr,
               const aclTensor* beta1, const aclTensor* beta2, const aclTensor* epsilon,
               const aclTensor* grad, bool, bool useNesterov) {
  AdamState s{plan.output(varRef, "varRef"), plan.output(m, "m"), plan.output(v, "v"), std::nullopt, {}};
  enum { kPower1, kPower2, kRate, kBeta1, kBeta2, kEpsilon };
  std::vector<Operand> numbers;
  for (const auto& [tensor, name] :
       {std::pair(beta1Power, "beta1Power"), std::pair(beta2Power, "beta2Power"), std::pair(lr, "lr"),
        std::pair(beta1, "beta1"), std::pair(beta2, "beta2"), std::pair(epsilon, "epsilon")})
    numbers.push_back(number_of(plan, tensor, name));
  s.gradient = plan.input(grad, "grad");
  require_state(plan, s, false);
  plan.run([=](const aclOpExecutor& e) {
    const auto value = [&](int which) { return value_of(numbers[size_t(which)], e); };
    const double rate = value(kRate) * std::sqrt(1 - value(kPower2)) / (1 - value(kPower1));
    const k::AdamStep step{rate, value(kBeta1), value(kBeta2), value(kEpsilon), 0, 1,
                           1,    false,         false,         useNesterov};
    run_adam(s, step, false, e);
  });
}

void FusedAdam(Plan& plan, const aclTensorList* paramsRef, const aclTensorList* gradsRef,
               const aclTensorList* expAvgsRef, const aclTensorList* expAvgSqsRef,
               const aclTensorList* maxExpAvgSqsRef, const aclTensorList* stateSteps,
               const aclTensor* gradScaleOptional, const aclTensor* foundInfOptional, double lr, double beta1,
               double beta2, double weightDecay, double eps, bool amsgrad, bool maximize) {
  fused_adam(plan, paramsRef, gradsRef, expAvgsRef, expAvgSqsRef, maxExpAvgSqsRef, stateSteps,
             gradScaleOptional, foundInfOptional, {lr, beta1, beta2, eps, weightDecay, 0, 0, false, maximize},
             amsgrad);
}
void FusedAdamw(Plan& plan, const aclTensorList* paramsRef, const aclTensorList* grads,
                const aclTensorList* expAvgsRef, const aclTensorList* expAvgSqsRef,
                const aclTensorList* maxExpAvgSqsRef, const aclTensorList* stateSteps,
                const aclTensor* gradScaleOptional, const aclTensor* foundInfOptional, double lr,
                double beta1, double beta2, double weightDecay, double eps, bool amsgrad, bool maximize) {
  fused_adam(plan, paramsRef, grads, expAvgsRef, expAvgSqsRef, maxExpAvgSqsRef, stateSteps, gradScaleOptional,
             foundInfOptional, {lr, beta1, beta2, eps, weightDecay, 0, 0, true, maximize}, amsgrad);
}

void FusedSgd(Plan& plan, const aclTensorList* paramsRef, const aclTensorList* gradsRef,
              const aclTensorList* momentumBufferListOptionalRef, const aclTensor* gradScaleOptional,
              float weightDecay, float momentum, float lr, float dampening, bool nesterov, bool maximize,
              bool isFirstStep) {
  const lists::Operands p = plan.outputs(paramsRef, "paramsRef"), g = plan.outputs(gradsRef, "gradsRef");
  const bool with_momentum =
      momentumBufferListOptionalRef != nullptr && !momentumBufferListOptionalRef->values.empty();
  const lists::Operands buffers =
      with_momentum ? plan.outputs(momentumBufferListOptionalRef, "momentumBufferListOptionalRef")
                    : lists::Operands();
  const std::optional<Operand> scale = plan.optional_input(gradScaleOptional, "gradScaleOptional");
  lists::require_length(plan, g.size(), "gradsRef", p.size());
  if (with_momentum) lists::require_length(plan, buffers.size(), "momentumBufferListOptionalRef", p.size());
  for (size_t i = 0; i < p.size(); ++i) {
    plan.require_dtype(p[i], "paramsRef", domains::floating);
    require_like(plan, g[i], "gradsRef", p[i]);
    if (with_momentum) require_like(plan, buffers[i], "momentumBufferListOptionalRef", p[i]);
  }
  const k::SgdStep step{lr, momentum, dampening, weightDecay, nesterov, maximize, isFirstStep};
  plan.run([=](const aclOpExecutor& e) {
    std::vector<k::SgdTensors> tensors;
    for (size_t i = 0; i < p.size(); ++i)
      tensors.push_back({p[i].view(e), g[i].view(e), with_momentum ? buffers[i].view(e) : View{}});
    k::sgd(tensors, with_momentum, step, scale ? value_of(*scale, e) : 1.0);
  });
}

// Adam (mode 0) or AdamW (mode 1) with a running average of the parameter.
void ApplyFusedEmaAdam(Plan& plan, const aclTensor* grad, aclTensor* varRef, aclTensor* mRef, aclTensor* vRef,
                       aclTensor* sRef, const aclTensor* step, double lr, double emaDecay, double beta1,
                       double beta2, double eps, int64_t mode, bool biasCorrection, double weightDecay) {
  const Operand gradient = plan.input(grad, "grad");
  const AdamState s{plan.output(varRef, "varRef"), plan.output(mRef, "mRef"), plan.output(vRef, "vRef"),
                    std::nullopt, gradient};
  const Operand average = plan.output(sRef, "sRef"), count = number_of(plan, step, "step");
  require_state(plan, s, false);
  require_like(plan, average, "sRef", s.parameter);
  if (mode != 0 && mode != 1) plan.invalid("mode is ", mode, ", wanted 0 (Adam) or 1 (AdamW)");
  plan.run([=](const aclOpExecutor& e) {
    const double now = value_of(count, e);
    const k::AdamStep rule{lr,
                           beta1,
                           beta2,
                           eps,
                           weightDecay,
                           biasCorrection ? 1 - std::pow(beta1, now) : 1.0,
                           biasCorrection ? 1 - std::pow(beta2, now) : 1.0,
                           mode == 1,
                           false};
    k::AdamTensors tensors = tensors_of(s, rule, false, e);
    tensors.largest = average.view(e);
    k::adam_with_average(tensors, emaDecay);
  });
}

void AmpUpdateScale(Plan& plan, const aclTensor* currentScale, const aclTensor* growthTracker,
                    const aclTensor* foundInf, double growthFactor, double backoffFactor,
                    int64_t growthInterval, const aclTensor* updatedScale,
                    const aclTensor* updatedGrowthTracker) {
  const Operand scale = number_of(plan, currentScale, "currentScale"),
                tracker = number_of(plan, growthTracker, "growthTracker"),
                found = number_of(plan, foundInf, "foundInf"),
                new_scale = plan.output(updatedScale, "updatedScale"),
                new_tracker = plan.output(updatedGrowthTracker, "updatedGrowthTracker");
  if (new_scale.numel() != 1 || new_tracker.numel() != 1)
    plan.invalid("the results have shapes ", shape_text(new_scale), " and ", shape_text(new_tracker),
                 ", wanted one element each");
  plan.run([=](const aclOpExecutor& e) {
    const k::ScaleState made =
        k::updated_scale({value_of(scale, e), int64_t(value_of(tracker, e))}, value_of(found, e) != 0,
                         growthFactor, backoffFactor, growthInterval);
    k::fill(new_scale.view(e), Scalar(made.scale));
    k::fill(new_tracker.view(e), Scalar(made.successes));
  });
}

// Gradients times invScale; foundInf becomes 1 where one of them is not finite, and else keeps its value.
void ForeachNonFiniteCheckAndUnscale(Plan& plan, const aclTensorList* scaledGrads, const aclTensor* foundInf,
                                     const aclTensor* invScale) {
  const lists::Operands grads = plan.outputs(scaledGrads, "scaledGrads");
  const Operand found = plan.output(foundInf, "foundInf"), factor = plan.input(invScale, "invScale");
  for (const Operand& grad : grads) plan.require_dtype(grad, "scaledGrads", domains::floating);
  plan.require_dtype(found, "foundInf", domains::floating);
  plan.require_dtype(factor, "invScale", domains::floating);
  if (found.numel() != 1 || factor.numel() != 1)
    plan.invalid("'foundInf' and 'invScale' have shapes ", shape_text(found), " and ", shape_text(factor),
                 ", wanted one element each");
  plan.run([=](const aclOpExecutor& e) {
    std::vector<View> values;
    for (const Operand& grad : grads) values.push_back(grad.view(e));
    if (k::unscale(values, element(factor.view(e), 0).to<double>())) k::fill(found.view(e), Scalar(1.0));
  });
}

}  // namespace softnpu::ops
