// Softmax and its gradient, also fused with masks.
#include "kernels/softmax/softmax.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "op_plans.h"
#include "ops/common/arguments.h"
#include "ops/common/shapes.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

DType wider(DType dtype) { return dtype == DType::float64 ? dtype : DType::float32; }

void softmax(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* out, bool log) {
  const Operand in = at_least_1d(plan.input(self, "self")), to = at_least_1d(plan.output(out, "out"));
  plan.require_dtype(in, "self", domains::floating);
  plan.require_dtype(to, "out", domains::floating);
  plan.require_same_shape(in, "self", to, "out");
  const int along = plan.dim(dim, in);
  plan.run([=](const aclOpExecutor& e) { k::softmax(in.view(e), to.view(e), along, log); });
}

void softmax_backward(Plan& plan, const aclTensor* gradOutput, const aclTensor* output, int64_t dim,
                      const aclTensor* out, bool log) {
  const Operand grad = at_least_1d(plan.input(gradOutput, "gradOutput")),
                result = at_least_1d(plan.input(output, "output")), to = at_least_1d(plan.output(out, "out"));
  plan.require_dtype(grad, "gradOutput", domains::floating);
  plan.require_dtype(result, "output", domains::floating);
  plan.require_dtype(to, "out", domains::floating);
  plan.require_same_shape(grad, "gradOutput", result, "output");
  plan.require_same_shape(grad, "gradOutput", to, "out");
  const int along = plan.dim(dim, grad);
  plan.run([=](const aclOpExecutor& e) {
    k::softmax_backward(grad.view(e), result.view(e), to.view(e), along, log);
  });
}

}  // namespace

void Softmax(Plan& plan, const aclTensor* self, int64_t dim, aclTensor* out) {
  softmax(plan, self, dim, out, false);
}
void LogSoftmax(Plan& plan, const aclTensor* self, int64_t dim, aclTensor* out) {
  softmax(plan, self, dim, out, true);
}

void SoftmaxBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* output, int64_t dim,
                     aclTensor* out) {
  softmax_backward(plan, gradOutput, output, dim, out, false);
}
void LogSoftmaxBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* output, int64_t dim,
                        aclTensor* out) {
  softmax_backward(plan, gradOutput, output, dim, out, true);
}

void LogSoftmaxV2(Plan& plan, const aclTensor* self, int64_t dim, aclTensor* out) {
  LogSoftmax(plan, self, dim, out);
}
void SoftmaxGrad(Plan& plan, const aclTensor* y, const aclTensor* dy, aclTensor* dx) {
  const Operand result = plan.input(y, "y"), grad = plan.input(dy, "dy"), to = plan.output(dx, "dx");
  plan.require_dtype(grad, "dy", domains::floating);
  plan.require_dtype(result, "y", domains::floating);
  plan.require_dtype(to, "dx", domains::floating);
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
  plan.require_dtype(x, "x", domains::floating);
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
  plan.require_dtype(to, "y", domains::floating);
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
  plan.require_dtype(result, "y", domains::floating);
  plan.require_dtype(to, "out", domains::floating);
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
  plan.require_dtype(in, "x", domains::floating);
  plan.require_dtype(bias, "relativePosBias", domains::floating);
  plan.require_dtype(to, "out", domains::floating);
  plan.require_same_shape(in, "x", to, "out");
  if (in.ndim != 4 && in.ndim != 5)
    plan.invalid("tensor 'x' has shape ", shape_text(in), ", wanted 4 or 5 dimensions");
  plan.require_broadcast(bias, "relativePosBias", in);
  if (mask && mask->ndim == 3) mask = unsqueezed(*mask, 1);
  if (mask) plan.require_dtype(*mask, "attenMask", domains::floating);
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
