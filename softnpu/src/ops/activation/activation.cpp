// Activations and their gradients beyond the rows of the operator table.
#include <cstring>

#include "kernels/common/copy.h"
#include "kernels/common/temporary.h"
#include "kernels/random/random.h"
#include "op_plans.h"
#include "ops/common/shorthand.h"

namespace softnpu::ops {

namespace {

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kFastGeluSlope = 1.702;  // x * sigmoid(1.702 x)

void elu(Plan& plan, const aclTensor* self, const Scalar& alpha, const Scalar& scale,
         const Scalar& input_scale, const aclTensor* out) {
  unary<k::elu_op>(plan, self, out, alpha, scale, input_scale);
}
void selu(Plan& plan, const aclTensor* self, const aclTensor* out) {
  elu(plan, self, kSeluAlpha, kSeluScale, 1.0, out);
}
void celu(Plan& plan, const aclTensor* self, const aclScalar* alpha, const aclTensor* out) {
  const double value = plan.scalar(alpha, "alpha").to<double>();
  if (value == 0) plan.invalid("alpha is 0");
  elu(plan, self, value, 1.0, 1 / value, out);
}

void gelu(Plan& plan, const aclTensor* self, bool tanh, const aclTensor* out) {
  if (tanh) unary<k::gelu_tanh_op>(plan, self, out);
  else unary<k::gelu_op>(plan, self, out);
}
void gelu_backward(Plan& plan, const aclTensor* grad, const aclTensor* self, bool tanh,
                   const aclTensor* out) {
  if (tanh) backward<k::gelu_tanh_backward_op>(plan, grad, self, out);
  else backward<k::gelu_backward_op>(plan, grad, self, out);
}

double optional_number(const Plan& plan, const aclScalar* scalar, const char* name, double otherwise) {
  return scalar == nullptr ? otherwise : plan.scalar(scalar, name).to<double>();
}

// The weight of prelu, one number or one per channel (dimension 1), in the shape of what it multiplies.
Operand per_channel(const Plan& plan, const Operand& weight, const Operand& in) {
  const int64_t channels = in.ndim > 1 ? in.sizes[1] : 1;
  // PyTorch shapes the weight for broadcasting: [1, C, 1, 1] is as good as [C].
  int64_t stride = 0;
  bool fits = weight.numel() == 1 || weight.numel() == channels;
  for (int i = 0; i < weight.ndim; ++i) {
    if (weight.sizes[i] == 1) continue;
    fits = fits && weight.sizes[i] == channels;
    stride = weight.strides[i];
  }
  if (!fits)
    plan.invalid("tensor 'weight' has shape ", shape_text(weight), ", wanted one element or [", channels,
                 "]");
  Operand seen = weight;
  seen.ndim = in.ndim;
  for (int i = 0; i < in.ndim; ++i) {
    const bool channel = i == 1 && weight.numel() != 1;
    seen.sizes[i] = channel ? channels : 1;
    seen.strides[i] = channel ? stride : 0;
  }
  return seen;
}

// A gradient whose operands come in another order than gradient, input, result.
template <class Op>
void slope_times_gradient(Plan& plan, const Operand& grad, const Operand& in, const Operand& out,
                          const Scalar& number = Scalar()) {
  plan.require_dtype(in, "the input", Op::domain);
  plan.require_same_dtype(grad, "the gradient", in, "the input");
  plan.require_same_shape(grad, "the gradient", in, "the input");
  plan.require_same_shape(in, "the input", out, "the result");
  plan.run([=](const aclOpExecutor& e) {
    k::binary<Op>(grad.view(e), in.view(e), out.view(e), in.dtype, &number);
  });
}

// In training every negative element gets a slope of its own, which the noise remembers (1 for the others); else
// they share the middle of the range.
void random_leaky_relu(Plan& plan, const aclTensor* self, const aclTensor* noise, const aclScalar* lower,
                       const aclScalar* upper, bool training, int64_t seed, int64_t offset,
                       const aclTensor* out) {
  const double low = plan.scalar(lower, "lower").to<double>(),
               high = plan.scalar(upper, "upper").to<double>();
  if (!(low <= high)) plan.invalid("lower is ", low, " and upper is ", high, ", wanted lower <= upper");
  const Operand in = plan.input(self, "self"), slopes = plan.output(noise, "noise"),
                to = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::floating);
  plan.require_same_dtype(slopes, "noise", in, "self");
  plan.require_same_dtype(to, "out", in, "self");
  plan.require_same_shape(in, "self", slopes, "noise");
  plan.require_same_shape(in, "self", to, "out");
  if (!training) {
    const Scalar middle((low + high) / 2);
    return plan.run(
        [=](const aclOpExecutor& e) { k::unary<k::leaky_relu_op>(in.view(e), to.view(e), &middle); });
  }
  plan.run([=](const aclOpExecutor& e) {
    const View x = in.view(e), result = to.view(e), slope = slopes.view(e);
    const k::Temporary positive(x, DType::boolean), drawn(x, x.dtype);
    double zero = 0, one = 1;
    k::compare<k::gt_op>(x, View{&zero, nullptr, nullptr, 0, DType::float64}, positive.view(), x.dtype);
    // The offset counts calls, not numbers, for callers that raise it by one.
    k::philox_uniform(drawn.view(), low, high, uint64_t(seed), uint64_t(offset) << 24);
    k::where(positive.view(), View{&one, nullptr, nullptr, 0, DType::float64}, drawn.view(), slope);
    k::binary<k::mul_op>(x, slope, result, x.dtype);
  });
}

}  // namespace

void RReluWithNoise(Plan& plan, const aclTensor* self, const aclTensor* noise, const aclScalar* lower,
                    const aclScalar* upper, bool training, int64_t seed, int64_t offset, aclTensor* out) {
  random_leaky_relu(plan, self, noise, lower, upper, training, seed, offset, out);
}
void InplaceRReluWithNoise(Plan& plan, const aclTensor* self, const aclTensor* noise, const aclScalar* lower,
                           const aclScalar* upper, bool training, int64_t seed, int64_t offset) {
  random_leaky_relu(plan, self, noise, lower, upper, training, seed, offset, self);
}

// The first versions have the formula with tanh, whatever PyTorch was asked for; the second take a choice.
void Gelu(Plan& plan, const aclTensor* self, aclTensor* out) { gelu(plan, self, true, out); }
void GeluV2(Plan& plan, const aclTensor* x, int64_t approximate, aclTensor* y) {
  if (approximate != 0 && approximate != 1)
    plan.invalid("approximate is ", approximate, ", wanted 0 (none) or 1 (tanh)");
  gelu(plan, x, approximate == 1, y);
}
void GeluBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                  const aclTensor* gradInput) {
  gelu_backward(plan, gradOutput, self, true, gradInput);
}
void GeluBackwardV2(Plan& plan, const aclTensor* gradOutput, const aclTensor* self, char* approximate,
                    aclTensor* gradInput) {
  if (approximate == nullptr)
    throw PlanError(ACLNN_ERR_PARAM_NULLPTR, "aclnnGeluBackwardV2: approximate is NULL");
  const bool tanh = std::strcmp(approximate, "tanh") == 0;
  if (!tanh && std::strcmp(approximate, "none") != 0)
    plan.invalid("approximate is '", approximate, "', wanted 'none' or 'tanh'");
  gelu_backward(plan, gradOutput, self, tanh, gradInput);
}
void FastGelu(Plan& plan, const aclTensor* self, aclTensor* out) {
  unary<k::swish_op>(plan, self, out, kFastGeluSlope);
}
void FastGeluV2(Plan& plan, const aclTensor* x, const aclTensor* out) {
  unary<k::swish_op>(plan, x, out, kFastGeluSlope);
}
void FastGeluBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self, aclTensor* gradInput) {
  backward<k::swish_backward_op>(plan, gradOutput, self, gradInput, kFastGeluSlope);
}
void Swish(Plan& plan, const aclTensor* self, const aclScalar* betaOptional, aclTensor* out) {
  unary<k::swish_op>(plan, self, out, optional_number(plan, betaOptional, "beta", 1.0));
}
void SwishBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                   const aclScalar* betaOptional, aclTensor* gradInput) {
  backward<k::swish_backward_op>(plan, gradOutput, self, gradInput,
                                 optional_number(plan, betaOptional, "beta", 1.0));
}

void Celu(Plan& plan, const aclTensor* self, const aclScalar* alpha, aclTensor* out) {
  celu(plan, self, alpha, out);
}
void CeluV3(Plan& plan, const aclTensor* self, const aclScalar* alpha, aclTensor* out) {
  celu(plan, self, alpha, out);
}
void InplaceCelu(Plan& plan, aclTensor* selfRef, const aclScalar* alpha) {
  celu(plan, selfRef, alpha, selfRef);
}
void EluV2(Plan& plan, const aclTensor* self, const aclScalar* alpha, const aclScalar* scale,
           const aclScalar* inputScale, aclTensor* out) {
  elu(plan, self, plan.scalar(alpha, "alpha"), plan.scalar(scale, "scale"),
      plan.scalar(inputScale, "inputScale"), out);
}
void EluBackward(Plan& plan, const aclTensor* gradOutput, const aclScalar* alpha, const aclScalar* scale,
                 const aclScalar* inputScale, bool isResult, const aclTensor* selfOrResult,
                 aclTensor* gradInput) {
  const Scalar slope = plan.scalar(alpha, "alpha");
  if (isResult && slope.to<double>() < 0)
    plan.invalid("alpha is ", slope.to<double>(),
                 ": the slope cannot be read off the result of a negative one");
  backward<k::elu_backward_op>(plan, gradOutput, selfOrResult, gradInput, slope, plan.scalar(scale, "scale"),
                               plan.scalar(inputScale, "inputScale"), isResult);
}
void Selu(Plan& plan, const aclTensor* self, aclTensor* out) { selu(plan, self, out); }
void InplaceSelu(Plan& plan, aclTensor* selfRef) { selu(plan, selfRef, selfRef); }
void SeluBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* result, aclTensor* gradInput) {
  backward<k::elu_backward_op>(plan, gradOutput, result, gradInput, kSeluAlpha, kSeluScale, 1.0, true);
}

void HardShrink(Plan& plan, const aclTensor* self, const aclScalar* lambd, aclTensor* out) {
  unary<k::hardshrink_op>(plan, self, out, plan.scalar(lambd, "lambd"));
}
void Shrink(Plan& plan, const aclTensor* self, const aclScalar* lambd, const aclScalar* bias,
            aclTensor* out) {
  unary<k::shrink_op>(plan, self, out, plan.scalar(lambd, "lambd"), plan.scalar(bias, "bias"));
}
void HardsigmoidV2(Plan& plan, const aclTensor* self, aclTensor* out) {
  unary<k::hardsigmoid_op>(plan, self, out);
}
void InplaceHardsigmoidV2(Plan& plan, const aclTensor* self) { unary<k::hardsigmoid_op>(plan, self, self); }
void HardswishBackwardV2(Plan& plan, const aclTensor* gradOutput, const aclTensor* self, aclTensor* out) {
  backward<k::hardswish_backward_op>(plan, gradOutput, self, out);
}
void ThresholdV2(Plan& plan, const aclTensor* self, const aclScalar* threshold, const aclScalar* value,
                 aclTensor* out) {
  unary<k::threshold_op>(plan, self, out, plan.scalar(threshold, "threshold"), plan.scalar(value, "value"));
}
void ReluGradV4(Plan& plan, const aclTensor* gradOutput, const aclTensor* self, const aclScalar* threshold,
                aclTensor* out) {
  backward<k::threshold_backward_op>(plan, gradOutput, self, out, plan.scalar(threshold, "threshold"));
}
void Softsign(Plan& plan, const aclTensor* self, const aclTensor* out) {
  unary<k::softsign_op>(plan, self, out);
}
void SoftsignBackward(Plan& plan, const aclTensor* gradients, const aclTensor* features,
                      const aclTensor* out) {
  backward<k::softsign_backward_op>(plan, gradients, features, out);
}
void SquaredRelu(Plan& plan, const aclTensor* input, const aclTensor* out) {
  unary<k::squared_relu_op>(plan, input, out);
}
void SiluMul(Plan& plan, const aclTensor* x, const aclTensor* y, const aclTensor* out) {
  binary<k::swiglu_op>(plan, x, y, out);
}

// Whether self is the result does not matter: its sign is the input's for the slopes that are allowed.
void LeakyReluBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                       const aclScalar* negativeSlope, bool selfIsResult, aclTensor* out) {
  const Scalar slope = plan.scalar(negativeSlope, "negativeSlope");
  if (selfIsResult && slope.to<double>() < 0)
    plan.invalid("negativeSlope is ", slope.to<double>(),
                 ": the result of a negative one hides the input's sign");
  backward<k::leaky_relu_backward_op>(plan, gradOutput, self, out, slope);
}

// The buffer is the CPU's way to hand e^-|x| to the gradient; here, as on the card, nothing is kept in it.
void LogSigmoidForward(Plan& plan, const aclTensor* self, aclTensor* out, aclTensor* buffer) {
  unary<k::log_sigmoid_op>(plan, self, out);
  plan.optional_output(buffer, "buffer");
}
void LogSigmoidBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                        const aclTensor* buffer, aclTensor* gradInput) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), in = plan.input(self, "self");
  plan.optional_input(buffer, "buffer");
  slope_times_gradient<k::log_sigmoid_backward_op>(plan, grad, in, plan.output(gradInput, "gradInput"));
}

void Logit(Plan& plan, const aclTensor* input, double eps, const aclTensor* out) {
  unary<k::logit_op>(plan, input, out, eps);
}
void LogitGrad(Plan& plan, const aclTensor* x, const aclTensor* dy, double eps, const aclTensor* out) {
  const Operand in = plan.input(x, "x"), grad = plan.input(dy, "dy");
  slope_times_gradient<k::logit_backward_op>(plan, grad, in, plan.output(out, "out"), Scalar(eps));
}

void Prelu(Plan& plan, const aclTensor* self, const aclTensor* weight, aclTensor* out) {
  const Operand in = plan.input(self, "self"), slope = plan.input(weight, "weight"),
                to = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::floating);
  plan.require_same_dtype(slope, "weight", in, "self");
  plan.require_same_shape(in, "self", to, "out");
  const Operand seen = per_channel(plan, slope, in);
  plan.run([=](const aclOpExecutor& e) {
    k::binary<k::prelu_op>(in.view(e), seen.view(e), to.view(e), in.dtype);
  });
}

void PreluBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self, const aclTensor* weight,
                   aclTensor* gradInput, aclTensor* gradWeight) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), in = plan.input(self, "self"),
                slope = plan.input(weight, "weight"), to = plan.output(gradInput, "gradInput"),
                to_slope = plan.output(gradWeight, "gradWeight");
  plan.require_dtype(in, "self", domains::floating);
  plan.require_same_shape(grad, "gradOutput", in, "self");
  plan.require_same_shape(in, "self", to, "gradInput");
  const Operand seen = per_channel(plan, slope, in), total = per_channel(plan, to_slope, in);
  if (slope.numel() != to_slope.numel())
    plan.invalid("tensor 'gradWeight' has shape ", shape_text(to_slope), " but 'weight' has ",
                 shape_text(slope));
  plan.run([=](const aclOpExecutor& e) {
    const k::Temporary shares(in.sizes, in.ndim,
                              in.dtype == DType::float64 ? DType::float64 : DType::float32);
    k::binary<k::prelu_weight_backward_op>(grad.view(e), in.view(e), shares.view(), shares.view().dtype);
    k::reduce<k::sum_op>(shares.view(), total.view(e));
    k::ternary<k::prelu_backward_op>(grad.view(e), in.view(e), seen.view(e), to.view(e), in.dtype);
  });
}

}  // namespace softnpu::ops
