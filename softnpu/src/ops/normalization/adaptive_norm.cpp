// Layer normalisation whose scale and shift depend on the sample.
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/normalization/normalization.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// [B, H] belongs to all rows of [B, S, H].
Operand for_rows(const Plan& plan, const Operand& parameter, const char* name, const Operand& x) {
  const Operand result = parameter.ndim == x.ndim - 1 ? unsqueezed(parameter, x.ndim - 2) : parameter;
  plan.require_dtype(parameter, name, domains::floating);
  plan.require_broadcast(result, name, x);
  return result;
}

void adaptive_norm(Plan& plan, const aclTensor* x, const aclTensor* scale, const aclTensor* shift,
                   const aclTensor* weight, const aclTensor* bias, double epsilon, const aclTensor* out,
                   const aclTensor* meanOut, const aclTensor* rstdOut) {
  const Operand in = plan.input(x, "x"), factor = plan.input(scale, "scale"),
                addend = plan.input(shift, "shift");
  const std::optional<Operand> w = plan.optional_input(weight, "weight"),
                               b = plan.optional_input(bias, "bias");
  const Operand to = plan.output(out, "out");
  const std::optional<Operand> mean = optional_output(plan, meanOut, "meanOut"),
                               rstd = optional_output(plan, rstdOut, "rstdOut");
  if (in.ndim < 2) plan.invalid("tensor 'x' has shape ", shape_text(in), ", wanted [B, S, H]");
  plan.require_dtype(in, "x", domains::floating);
  plan.require_dtype(to, "out", domains::floating);
  plan.require_same_shape(in, "x", to, "out");
  const int64_t length = in.sizes[in.ndim - 1], rows = length ? in.numel() / length : 0;
  for (const auto& [vector, name] : {std::pair{&w, "weight"}, std::pair{&b, "bias"}})
    if (*vector) plan.require_shape(**vector, name, {length});
  for (const auto& [statistic, name] : {std::pair{&mean, "meanOut"}, std::pair{&rstd, "rstdOut"}})
    if (*statistic && (*statistic)->numel() != rows)
      plan.invalid("tensor '", name, "' has shape ", shape_text(**statistic), ", wanted ", rows, " elements");
  const Operand scales = for_rows(plan, factor, "scale", in), shifts = for_rows(plan, addend, "shift", in);
  plan.run([=](const aclOpExecutor& e) {
    const DType compute = in.dtype == DType::float64 ? DType::float64 : DType::float32;
    const Scalar one(1.0);
    const k::Dense values(in.view(e), in.dtype, k::Access::read);
    const OptionalDense weights(w, e, k::Access::read), biases(b, e, k::Access::read);
    const k::Temporary normed(sizes_of(in), compute), scaled(sizes_of(in), compute), means({rows}, compute),
        rstds({rows}, compute);
    k::layer_norm(values.view(), weights.get(), biases.get(), normed.view(), means.view(), rstds.view(), rows,
                  length, epsilon);
    // norm * (1 + scale) + shift
    k::binary<k::mul_op>(normed.view(), scales.view(e), scaled.view(), compute, nullptr);
    k::binary<k::add_op>(normed.view(), scaled.view(), normed.view(), compute, &one);
    k::binary<k::add_op>(normed.view(), shifts.view(e), to.view(e), compute, &one);
    const OptionalView to_mean(mean, e), to_rstd(rstd, e);
    k::put_numbers(k::numbers(means.view()), to_mean.get());
    k::put_numbers(k::numbers(rstds.view()), to_rstd.get());
  });
}

}  // namespace

void AdaLayerNorm(Plan& plan, const aclTensor* x, const aclTensor* scale, const aclTensor* shift,
                  const aclTensor* weightOptional, const aclTensor* biasOptional, double epsilon,
                  aclTensor* out) {
  adaptive_norm(plan, x, scale, shift, weightOptional, biasOptional, epsilon, out, nullptr, nullptr);
}
void AdaLayerNormV2(Plan& plan, const aclTensor* x, const aclTensor* scale, const aclTensor* shift,
                    const aclTensor* weightOptional, const aclTensor* biasOptional, double epsilon,
                    aclTensor* out, aclTensor* meanOutOptional, aclTensor* rstdOutOptional) {
  adaptive_norm(plan, x, scale, shift, weightOptional, biasOptional, epsilon, out, meanOutOptional,
                rstdOutOptional);
}

}  // namespace softnpu::ops
