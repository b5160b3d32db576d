// Group normalisation, alone and followed by an activation.
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/normalization/normalization.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

k::GroupNormShape shape_of(const Plan& plan, const Operand& in, const char* name, int64_t groups) {
  if (in.ndim < 2) plan.invalid("tensor '", name, "' has shape ", shape_text(in), ", wanted [N, C, ...]");
  const int64_t planes = in.sizes[0] * in.sizes[1];
  if (groups < 1 || in.sizes[1] % groups != 0)
    plan.invalid("the ", in.sizes[1], " channels of '", name, "' cannot be divided into ", groups, " groups");
  return {in.sizes[0], in.sizes[1], planes ? in.numel() / planes : 0, groups};
}
void require_numbers(const Plan& plan, const std::optional<Operand>& operand, const char* name,
                     int64_t count) {
  if (operand) plan.require_dtype(*operand, name, domains::floating);
  require_count(plan, operand, name, count);
}

// out = in * sigmoid(scale * in), which is silu(scale * in) / scale; over dense memory.
void scale_by(const View& in, double factor, const View& out) {
  const View number{&factor, nullptr, nullptr, 0, DType::float64};
  k::binary<k::mul_op>(in, number, out, in.dtype, nullptr);
}
void swish(const View& in, double scale, const View& out) {
  if (scale == 0) return scale_by(in, 0.5, out);
  if (scale == 1) return k::unary<k::silu_op>(in, out);
  scale_by(in, scale, in);
  k::unary<k::silu_op>(in, in);
  scale_by(in, 1 / scale, out);
}

struct GroupNormCall {
  Operand in;
  std::optional<Operand> gamma, beta;
  k::GroupNormShape shape;
  double eps;
  std::optional<double> swish;  // the scale, where an activation follows
  Operand out;
  std::optional<Operand> mean, rstd;
};

void group_norm(Plan& plan, const GroupNormCall& c) {
  plan.require_dtype(c.in, "self", domains::floating);
  plan.require_dtype(c.out, "out", domains::floating);
  plan.require_same_shape(c.in, "self", c.out, "out");
  require_numbers(plan, c.gamma, "gamma", c.shape.channels);
  require_numbers(plan, c.beta, "beta", c.shape.channels);
  require_numbers(plan, c.mean, "meanOut", c.shape.batch * c.shape.groups);
  require_numbers(plan, c.rstd, "rstdOut", c.shape.batch * c.shape.groups);
  plan.run([c](const aclOpExecutor& e) {
    const k::Dense x(c.in.view(e), c.in.dtype, k::Access::read);
    const OptionalView gamma(c.gamma, e), beta(c.beta, e), mean(c.mean, e), rstd(c.rstd, e);
    const auto norm = [&](const View& to) {
      k::group_norm(x.view(), gamma.get(), beta.get(), c.shape, c.eps, to, mean.get(), rstd.get());
    };
    if (c.swish) {
      const k::Temporary normed(sizes_of(c.in), c.in.dtype == DType::float64 ? c.in.dtype : DType::float32);
      norm(normed.view());
      return swish(normed.view(), *c.swish, c.out.view(e));
    }
    const k::Dense y(c.out.view(e), c.out.dtype, k::Access::write);
    norm(y.view());
    y.store();
  });
}

void group_norm_activated(Plan& plan, const aclTensor* self, const aclTensor* gamma, const aclTensor* beta,
                          int64_t group, double eps, std::optional<double> swish, const aclTensor* out,
                          const aclTensor* meanOut, const aclTensor* rstdOut) {
  GroupNormCall call;
  call.in = plan.input(self, "self");
  call.gamma = plan.optional_input(gamma, "gamma");
  call.beta = plan.optional_input(beta, "beta");
  call.shape = shape_of(plan, call.in, "self", group);
  call.eps = eps;
  call.swish = swish;
  call.out = plan.output(out, "out");
  call.mean = plan.output(meanOut, "meanOut");
  call.rstd = plan.output(rstdOut, "rstdOut");
  group_norm(plan, call);
}

void require_channels_first(const Plan& plan, const char* dataFormat) {
  const std::string_view format = text_of(dataFormat, "NCHW");
  if (format != "NCHW") plan.invalid("dataFormat is '", format, "', wanted 'NCHW'");
}

}  // namespace

void GroupNorm(Plan& plan, const aclTensor* self, const aclTensor* gamma, const aclTensor* beta, int64_t N,
               int64_t C, int64_t HxW, int64_t group, double eps, aclTensor* out, aclTensor* meanOut,
               aclTensor* rstdOut) {
  GroupNormCall call;
  call.in = plan.input(self, "self");
  call.gamma = plan.optional_input(gamma, "gamma");
  call.beta = plan.optional_input(beta, "beta");
  call.out = plan.output(out, "out");
  call.mean = plan.output(meanOut, "meanOut");
  call.rstd = plan.output(rstdOut, "rstdOut");
  call.eps = eps;
  call.shape = shape_of(plan, call.in, "self", group);
  if (call.shape.batch != N || call.shape.channels != C || call.in.numel() != N * C * HxW)
    plan.invalid("tensor 'self' has shape ", shape_text(call.in), ", wanted N=", N, ", C=", C, ", HxW=", HxW);
  group_norm(plan, call);
}

void GroupNormSilu(Plan& plan, const aclTensor* self, const aclTensor* gamma, const aclTensor* beta,
                   int64_t group, double eps, aclTensor* out, aclTensor* meanOut, aclTensor* rstdOut) {
  group_norm_activated(plan, self, gamma, beta, group, eps, 1.0, out, meanOut, rstdOut);
}
void GroupNormSiluV2(Plan& plan, const aclTensor* self, const aclTensor* gamma, const aclTensor* beta,
                     int64_t group, double eps, bool activateSilu, aclTensor* out, aclTensor* meanOut,
                     aclTensor* rstdOut) {
  group_norm_activated(plan, self, gamma, beta, group, eps, activateSilu ? std::optional(1.0) : std::nullopt,
                       out, meanOut, rstdOut);
}
void GroupNormSwish(Plan& plan, const aclTensor* x, const aclTensor* gamma, const aclTensor* beta,
                    int64_t numGroups, char* dataFormatOptional, double eps, bool activateSwish,
                    double swishScale, const aclTensor* yOut, const aclTensor* meanOut,
                    const aclTensor* rstdOut) {
  require_channels_first(plan, dataFormatOptional);
  group_norm_activated(plan, x, gamma, beta, numGroups, eps,
                       activateSwish ? std::optional(swishScale) : std::nullopt, yOut, meanOut, rstdOut);
}

namespace {

struct GroupNormGradCall {
  Operand grad, in, mean, rstd;
  std::optional<Operand> gamma, beta;
  k::GroupNormShape shape;
  std::optional<double> swish;
  std::optional<Operand> to_in, to_gamma, to_beta;
};

void group_norm_backward(Plan& plan, const GroupNormGradCall& c) {
  plan.require_dtype(c.grad, "gradOut", domains::floating);
  plan.require_dtype(c.in, "input", domains::floating);
  plan.require_same_shape(c.grad, "gradOut", c.in, "input");
  if (c.to_in) plan.require_same_shape(*c.to_in, "gradInput", c.in, "input");
  require_numbers(plan, c.mean, "mean", c.shape.batch * c.shape.groups);
  require_numbers(plan, c.rstd, "rstd", c.shape.batch * c.shape.groups);
  for (const std::optional<Operand>* parameter : {&c.gamma, &c.beta, &c.to_gamma, &c.to_beta})
    require_numbers(plan, *parameter, "gamma", c.shape.channels);
  plan.run([c = std::make_shared<const GroupNormGradCall>(c)](const aclOpExecutor& e) {
    const DType compute = c->in.dtype == DType::float64 ? DType::float64 : DType::float32;
    const k::Dense x(c->in.view(e), c->in.dtype, k::Access::read);
    const k::Temporary grad(sizes_of(c->in), compute);
    k::copy(c->grad.view(e), grad.view());
    const OptionalView gamma(c->gamma, e), beta(c->beta, e), to_gamma(c->to_gamma, e), to_beta(c->to_beta, e);
    if (c->swish) {
      // The norm again, from the kept statistics, for the slope of the activation.
      const k::Temporary normed(sizes_of(c->in), compute);
      const int64_t channels = c->shape.channels, planes = c->shape.batch * channels,
                    each = channels / c->shape.groups;
      const std::vector<double> means = k::numbers(c->mean.view(e)), rstds = k::numbers(c->rstd.view(e)),
                                w = k::numbers_or(gamma.get(), channels, 1),
                                b = k::numbers_or(beta.get(), channels, 0);
      std::vector<double> scale(static_cast<size_t>(planes)), shift(static_cast<size_t>(planes));
      for (int64_t i = 0; i < planes; ++i) {
        scale[size_t(i)] = rstds[size_t(i / each)] * w[size_t(i % channels)];
        shift[size_t(i)] = b[size_t(i % channels)] - means[size_t(i / each)] * scale[size_t(i)];
      }
      k::channel_affine(x.view(), normed.view(), {1, planes, c->shape.space, false}, scale.data(),
                        shift.data());
      scale_by(normed.view(), *c->swish, normed.view());
      k::binary<k::silu_backward_op>(grad.view(), normed.view(), grad.view(), compute, nullptr);
    }
    const OptionalDense to_in(c->to_in, e, k::Access::write);
    k::group_norm_backward(grad.view(), x.view(), c->mean.view(e), c->rstd.view(e), gamma.get(), c->shape,
                           to_in.get(), to_gamma.get(), to_beta.get());
    to_in.store();
  });
}

}  // namespace

void GroupNormBackward(Plan& plan, const aclTensor* gradOut, const aclTensor* input, const aclTensor* mean,
                       const aclTensor* rstd, const aclTensor* gamma, int64_t N, int64_t C, int64_t HxW,
                       int64_t group, const aclBoolArray* outputMask, aclTensor* gradInput,
                       aclTensor* gradGammaOut, aclTensor* gradBetaOut) {
  GroupNormGradCall call;
  call.grad = plan.input(gradOut, "gradOut");
  call.in = plan.input(input, "input");
  call.mean = plan.input(mean, "mean");
  call.rstd = plan.input(rstd, "rstd");
  call.gamma = plan.optional_input(gamma, "gamma");
  call.shape = shape_of(plan, call.in, "input", group);
  if (call.shape.batch != N || call.shape.channels != C || call.in.numel() != N * C * HxW)
    plan.invalid("tensor 'input' has shape ", shape_text(call.in), ", wanted N=", N, ", C=", C,
                 ", HxW=", HxW);
  call.to_in = masked_output(plan, gradInput, "gradInput", wanted(outputMask, 0));
  call.to_gamma = masked_output(plan, gradGammaOut, "gradGammaOut", wanted(outputMask, 1));
  call.to_beta = masked_output(plan, gradBetaOut, "gradBetaOut", wanted(outputMask, 2));
  group_norm_backward(plan, call);
}

void GroupNormSwishGrad(Plan& plan, const aclTensor* dy, const aclTensor* mean, const aclTensor* rstd,
                        const aclTensor* x, const aclTensor* gamma, const aclTensor* beta, int64_t numGroups,
                        char* dataFormatOptional, double swishScale, bool dgammaIsRequire,
                        bool dbetaIsRequire, const aclTensor* dxOut, const aclTensor* dgammaOut,
                        const aclTensor* dbetaOut) {
  require_channels_first(plan, dataFormatOptional);
  GroupNormGradCall call;
  call.grad = plan.input(dy, "dy");
  call.mean = plan.input(mean, "mean");
  call.rstd = plan.input(rstd, "rstd");
  call.in = plan.input(x, "x");
  call.gamma = plan.input(gamma, "gamma");
  call.beta = plan.input(beta, "beta");
  call.shape = shape_of(plan, call.in, "x", numGroups);
  call.swish = swishScale;
  call.to_in = plan.output(dxOut, "dxOut");
  call.to_gamma = masked_output(plan, dgammaOut, "dgammaOut", dgammaIsRequire);
  call.to_beta = masked_output(plan, dbetaOut, "dbetaOut", dbetaIsRequire);
  group_norm_backward(plan, call);
}

}  // namespace softnpu::ops
