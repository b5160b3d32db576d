// Normalisations over the last dimensions: layer and RMS norm, alone and fused with the addition before them.
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/normalization/normalization.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

struct Rows {
  int64_t count, length;
};

// The rows of `in` that end in the given sizes.
Rows rows_of(const Plan& plan, const Operand& in, const char* name, const std::vector<int64_t>& last) {
  bool fits = !last.empty() && in.ndim >= int(last.size());
  int64_t length = 1;
  for (size_t i = 0; fits && i < last.size(); ++i) {
    fits = in.sizes[size_t(in.ndim) - last.size() + i] == last[i];
    length *= last[i];
  }
  if (!fits)
    plan.invalid("tensor '", name, "' has shape ", shape_text(in),
                 ", which does not end in the normalised shape of ", last.size(), " dimension(s)");
  return {length ? in.numel() / length : 0, length};
}

void require_floating(const Plan& plan,
                      std::initializer_list<std::pair<const std::optional<Operand>, const char*>> operands) {
  for (const auto& [operand, name] : operands)
    if (operand) plan.require_dtype(*operand, name, domains::floating);
}

// Statistics as the client wants them, or in memory of our own where it does not.
class Statistic {
 public:
  Statistic(const std::optional<Operand>& operand, const aclOpExecutor& e, int64_t rows)
      : own_({operand ? 0 : rows}, DType::float32), given_(operand, e, k::Access::write) {}
  const View& view() const { return given_.get() ? *given_.get() : own_.view(); }
  void store() const { given_.store(); }

 private:
  k::Temporary own_;
  OptionalDense given_;
};

DType wider(DType dtype) { return dtype == DType::float64 ? dtype : DType::float32; }

// Everything that can go into one layer norm: y = norm(x1 * factor + x2 + bias).
struct LayerNormCall {
  Operand x;
  std::optional<Operand> added, bias;
  double factor = 1;
  std::optional<Operand> weight, shift;
  double eps;
  Operand y;
  std::optional<Operand> mean, rstd, sum;
};

void layer_norm(Plan& plan, const LayerNormCall& c, const std::vector<int64_t>& normalized) {
  const Rows rows = rows_of(plan, c.x, "input", normalized);
  require_floating(plan, {{c.x, "input"},
                          {c.added, "x2"},
                          {c.bias, "bias"},
                          {c.weight, "weight"},
                          {c.shift, "beta"},
                          {c.y, "out"},
                          {c.mean, "meanOut"},
                          {c.rstd, "rstdOut"},
                          {c.sum, "xOut"}});
  plan.require_same_shape(c.x, "input", c.y, "out");
  if (c.added) plan.require_same_shape(c.x, "x1", *c.added, "x2");
  if (c.bias) plan.require_broadcast(*c.bias, "bias", c.x);
  if (c.sum) plan.require_same_shape(c.x, "x1", *c.sum, "xOut");
  require_count(plan, c.weight, "weight", rows.length);
  require_count(plan, c.shift, "bias", rows.length);
  require_count(plan, c.mean, "meanOut", rows.count);
  require_count(plan, c.rstd, "rstdOut", rows.count);
  plan.run([c = std::make_shared<const LayerNormCall>(c), rows](const aclOpExecutor& e) {
    const OptionalDense weight(c->weight, e, k::Access::read), shift(c->shift, e, k::Access::read);
    const Statistic mean(c->mean, e, rows.count), rstd(c->rstd, e, rows.count);
    const k::Dense y(c->y.view(e), c->y.dtype, k::Access::write);
    const DType compute = wider(c->x.dtype);
    const Scalar factor(c->factor), one(1.0);
    if (c->added) {
      const k::Temporary sum(sizes_of(c->x), compute);
      k::binary<k::add_op>(c->added->view(e), c->x.view(e), sum.view(), compute, &factor);
      if (c->bias) k::binary<k::add_op>(sum.view(), c->bias->view(e), sum.view(), compute, &one);
      if (c->sum) k::copy(sum.view(), c->sum->view(e));
      k::layer_norm(sum.view(), weight.get(), shift.get(), y.view(), mean.view(), rstd.view(), rows.count,
                    rows.length, c->eps);
    } else {
      const k::Dense x(c->x.view(e), c->x.dtype, k::Access::read);
      k::layer_norm(x.view(), weight.get(), shift.get(), y.view(), mean.view(), rstd.view(), rows.count,
                    rows.length, c->eps);
    }
    y.store();
    mean.store();
    rstd.store();
  });
}

void plain_layer_norm(Plan& plan, const aclTensor* input, const aclIntArray* normalizedShape,
                      const aclTensor* weight, const aclTensor* bias, double eps, const aclTensor* out,
                      const aclTensor* mean, const aclTensor* rstd) {
  LayerNormCall call;
  call.x = plan.input(input, "input");
  call.weight = plan.optional_input(weight, "weight");
  call.shift = plan.optional_input(bias, "bias");
  call.eps = eps;
  call.y = plan.output(out, "out");
  call.mean = optional_output(plan, mean, "meanOut");
  call.rstd = optional_output(plan, rstd, "rstdOut");
  layer_norm(plan, call, int_list(plan, normalizedShape, "normalizedShape"));
}

// The gradient of norm(x1 * factor + x2): of the sum, times `factor` for x1.
struct LayerNormGradCall {
  Operand grad, x;
  std::optional<Operand> added;
  double factor = 1;
  Operand mean, rstd;
  std::optional<Operand> weight, grad_sum;
  std::optional<Operand> to_x, to_added, to_weight, to_bias;
};

void layer_norm_backward(Plan& plan, const LayerNormGradCall& c, const std::vector<int64_t>& normalized) {
  const Rows rows = rows_of(plan, c.x, "input", normalized);
  require_floating(plan, {{c.grad, "gradOut"},
                          {c.x, "input"},
                          {c.added, "x2"},
                          {c.mean, "mean"},
                          {c.rstd, "rstd"},
                          {c.weight, "weight"},
                          {c.grad_sum, "dsum"},
                          {c.to_x, "gradInput"},
                          {c.to_added, "gradInput"},
                          {c.to_weight, "gradWeight"},
                          {c.to_bias, "gradBias"}});
  plan.require_same_shape(c.grad, "gradOut", c.x, "input");
  for (const std::optional<Operand>* like : {&c.added, &c.grad_sum, &c.to_x, &c.to_added})
    if (*like) plan.require_same_shape(c.x, "input", **like, "its partner");
  for (const std::optional<Operand>* parameter : {&c.weight, &c.to_weight, &c.to_bias})
    require_count(plan, *parameter, "weight", rows.length);
  require_count(plan, c.mean, "mean", rows.count);
  require_count(plan, c.rstd, "rstd", rows.count);
  plan.run([c = std::make_shared<const LayerNormGradCall>(c), rows](const aclOpExecutor& e) {
    const DType compute = wider(c->x.dtype);
    const k::Dense grad(c->grad.view(e), c->grad.dtype, k::Access::read),
        mean(c->mean.view(e), c->mean.dtype, k::Access::read),
        rstd(c->rstd.view(e), c->rstd.dtype, k::Access::read);
    const k::Temporary x(sizes_of(c->x), compute), dx(sizes_of(c->x), compute);
    const Scalar factor(c->factor), one(1.0);
    if (c->added) k::binary<k::add_op>(c->added->view(e), c->x.view(e), x.view(), compute, &factor);
    else k::copy(c->x.view(e), x.view());
    const OptionalDense weight(c->weight, e, k::Access::read), to_weight(c->to_weight, e, k::Access::write),
        to_bias(c->to_bias, e, k::Access::write);
    k::layer_norm_backward(grad.view(), x.view(), mean.view(), rstd.view(), weight.get(),
                           c->to_x || c->to_added ? &dx.view() : nullptr, to_weight.get(), to_bias.get(),
                           rows.count, rows.length);
    if (c->grad_sum) k::binary<k::add_op>(dx.view(), c->grad_sum->view(e), dx.view(), compute, &one);
    if (c->to_added) k::copy(dx.view(), c->to_added->view(e));
    if (c->to_x) {
      const int64_t* none = nullptr;
      const View number{const_cast<double*>(&c->factor), none, none, 0, DType::float64};
      k::binary<k::mul_op>(dx.view(), number, c->to_x->view(e), compute, nullptr);
    }
    to_weight.store();
    to_bias.store();
  });
}

}  // namespace

void LayerNorm(Plan& plan, const aclTensor* input, const aclIntArray* normalizedShape,
               const aclTensor* weightOptional, const aclTensor* biasOptional, double eps, aclTensor* out,
               aclTensor* meanOutOptional, aclTensor* rstdOutOptional) {
  plain_layer_norm(plan, input, normalizedShape, weightOptional, biasOptional, eps, out, meanOutOptional,
                   rstdOutOptional);
}
void FastLayerNorm(Plan& plan, const aclTensor* input, const aclIntArray* normalizedShape,
                   const aclTensor* weightOptional, const aclTensor* biasOptional, double eps, aclTensor* out,
                   aclTensor* meanOutOptional, aclTensor* rstdOutOptional) {
  plain_layer_norm(plan, input, normalizedShape, weightOptional, biasOptional, eps, out, meanOutOptional,
                   rstdOutOptional);
}
// The mode trades precision for time on a card; here there is one.
void LayerNormWithImplMode(Plan& plan, const aclTensor* input, const aclIntArray* normalizedShape,
                           const aclTensor* weightOptional, const aclTensor* biasOptional, double eps,
                           aclTensor* out, aclTensor* meanOutOptional, aclTensor* rstdOutOptional,
                           int32_t implMode) {
  if (implMode < 0 || implMode > 2) plan.invalid("implMode is ", implMode, ", wanted 0, 1 or 2");
  plain_layer_norm(plan, input, normalizedShape, weightOptional, biasOptional, eps, out, meanOutOptional,
                   rstdOutOptional);
}

void LayerNormBackward(Plan& plan, const aclTensor* gradOut, const aclTensor* input,
                       const aclIntArray* normalizedShape, const aclTensor* mean, const aclTensor* rstd,
                       const aclTensor* weightOptional, const aclTensor* biasOptional,
                       const aclBoolArray* outputMask, aclTensor* gradInputOut, aclTensor* gradWeightOut,
                       aclTensor* gradBiasOut) {
  LayerNormGradCall call;
  call.grad = plan.input(gradOut, "gradOut");
  call.x = plan.input(input, "input");
  call.mean = plan.input(mean, "mean");
  call.rstd = plan.input(rstd, "rstd");
  call.weight = plan.optional_input(weightOptional, "weight");
  plan.optional_input(biasOptional, "bias");
  call.to_x = masked_output(plan, gradInputOut, "gradInput", wanted(outputMask, 0));
  call.to_weight = masked_output(plan, gradWeightOut, "gradWeight", wanted(outputMask, 1));
  call.to_bias = masked_output(plan, gradBiasOut, "gradBias", wanted(outputMask, 2));
  layer_norm_backward(plan, call, int_list(plan, normalizedShape, "normalizedShape"));
}

void AddLayerNorm(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma,
                  const aclTensor* beta, const aclTensor* biasOptional, double epsilon, bool additionalOutput,
                  const aclTensor* yOut, const aclTensor* meanOut, const aclTensor* rstdOut,
                  const aclTensor* xOut) {
  LayerNormCall call;
  call.x = plan.input(x1, "x1");
  call.added = plan.input(x2, "x2");
  call.weight = plan.input(gamma, "gamma");
  call.shift = plan.input(beta, "beta");
  call.bias = plan.optional_input(biasOptional, "bias");
  call.eps = epsilon;
  call.y = plan.output(yOut, "yOut");
  call.mean = unless_empty(optional_output(plan, meanOut, "meanOut"));
  call.rstd = unless_empty(optional_output(plan, rstdOut, "rstdOut"));
  call.sum = masked_output(plan, xOut, "xOut", additionalOutput);
  layer_norm(plan, call, sizes_of(*call.weight));
}

void AddLayerNormGrad(Plan& plan, const aclTensor* dy, const aclTensor* x1, const aclTensor* x2,
                      const aclTensor* rstd, const aclTensor* mean, const aclTensor* gamma,
                      const aclTensor* dsumOptional, const aclTensor* dxOut, const aclTensor* dgammaOut,
                      const aclTensor* dbetaOut) {
  LayerNormGradCall call;
  call.grad = plan.input(dy, "dy");
  call.x = plan.input(x1, "x1");
  call.added = plan.input(x2, "x2");
  call.rstd = plan.input(rstd, "rstd");
  call.mean = plan.input(mean, "mean");
  call.weight = plan.input(gamma, "gamma");
  call.grad_sum = unless_empty(plan.optional_input(dsumOptional, "dsum"));
  call.to_x = plan.output(dxOut, "dxOut");
  call.to_weight = plan.output(dgammaOut, "dgammaOut");
  call.to_bias = plan.output(dbetaOut, "dbetaOut");
  layer_norm_backward(plan, call, sizes_of(*call.weight));
}

void DeepNorm(Plan& plan, const aclTensor* x, const aclTensor* gx, const aclTensor* beta,
              const aclTensor* gamma, double alpha, double epsilon, const aclTensor* meanOut,
              const aclTensor* rstdOut, const aclTensor* yOut) {
  LayerNormCall call;
  call.x = plan.input(x, "x");
  call.added = plan.input(gx, "gx");
  call.factor = alpha;
  call.shift = plan.input(beta, "beta");
  call.weight = plan.input(gamma, "gamma");
  call.eps = epsilon;
  call.mean = plan.output(meanOut, "meanOut");
  call.rstd = plan.output(rstdOut, "rstdOut");
  call.y = plan.output(yOut, "yOut");
  layer_norm(plan, call, sizes_of(*call.weight));
}

void DeepNormGrad(Plan& plan, const aclTensor* dy, const aclTensor* x, const aclTensor* gx,
                  const aclTensor* gamma, const aclTensor* mean, const aclTensor* rstd, double alpha,
                  const aclTensor* dxOut, const aclTensor* dgxOut, const aclTensor* dbetaOut,
                  const aclTensor* dgammaOut) {
  LayerNormGradCall call;
  call.grad = plan.input(dy, "dy");
  call.x = plan.input(x, "x");
  call.added = plan.input(gx, "gx");
  call.weight = plan.input(gamma, "gamma");
  call.factor = alpha;
  call.mean = plan.input(mean, "mean");
  call.rstd = plan.input(rstd, "rstd");
  call.to_x = plan.output(dxOut, "dxOut");
  call.to_added = plan.output(dgxOut, "dgxOut");
  call.to_bias = plan.output(dbetaOut, "dbetaOut");
  call.to_weight = plan.output(dgammaOut, "dgammaOut");
  layer_norm_backward(plan, call, sizes_of(*call.weight));
}

namespace {

// y = rms_norm(x (+ x2)); some models store gamma - 1.
struct RmsNormCall {
  Operand x;
  std::optional<Operand> added;
  Operand gamma;
  double gamma_offset = 0, eps;
  Operand y;
  std::optional<Operand> y_too, rstd, sum;
};

void rms_norm(Plan& plan, const RmsNormCall& c) {
  const Rows rows = rows_of(plan, c.x, "x", sizes_of(c.gamma));
  require_floating(plan, {{c.x, "x"},
                          {c.added, "x2"},
                          {c.gamma, "gamma"},
                          {c.y, "yOut"},
                          {c.y_too, "y2Out"},
                          {c.rstd, "rstdOut"},
                          {c.sum, "xOut"}});
  plan.require_same_shape(c.x, "x", c.y, "yOut");
  for (const std::optional<Operand>* like : {&c.added, &c.y_too, &c.sum})
    if (*like) plan.require_same_shape(c.x, "x", **like, "its partner");
  require_count(plan, c.rstd, "rstdOut", rows.count);
  plan.run([c = std::make_shared<const RmsNormCall>(c), rows](const aclOpExecutor& e) {
    const DType compute = wider(c->x.dtype);
    const Scalar one(1.0);
    const View gamma = c->gamma.view(e);
    const k::Temporary x(sizes_of(c->x), compute);
    if (c->added) k::binary<k::add_op>(c->x.view(e), c->added->view(e), x.view(), compute, &one);
    else k::copy(c->x.view(e), x.view());
    const Statistic rstd(c->rstd, e, rows.count);
    const k::Dense y(c->y.view(e), c->y.dtype, k::Access::write);
    if (c->sum) k::copy(x.view(), c->sum->view(e));
    k::rms_norm(x.view(), &gamma, c->gamma_offset, y.view(), rstd.view(), rows.count, rows.length, c->eps);
    if (c->y_too) k::copy(y.view(), c->y_too->view(e));
    y.store();
    rstd.store();
  });
}

}  // namespace

void RmsNorm(Plan& plan, const aclTensor* x, const aclTensor* gamma, double epsilon, const aclTensor* yOut,
             const aclTensor* rstdOut) {
  RmsNormCall call;
  call.x = plan.input(x, "x");
  call.gamma = plan.input(gamma, "gamma");
  call.eps = epsilon;
  call.y = plan.output(yOut, "yOut");
  call.rstd = plan.output(rstdOut, "rstdOut");
  rms_norm(plan, call);
}
void GemmaRmsNorm(Plan& plan, const aclTensor* x, const aclTensor* gamma, double epsilon,
                  const aclTensor* yOut, const aclTensor* rstdOut) {
  RmsNormCall call;
  call.x = plan.input(x, "x");
  call.gamma = plan.input(gamma, "gamma");
  call.gamma_offset = 1;
  call.eps = epsilon;
  call.y = plan.output(yOut, "yOut");
  call.rstd = plan.output(rstdOut, "rstdOut");
  rms_norm(plan, call);
}
void AddRmsNorm(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma, double epsilon,
                const aclTensor* yOut, const aclTensor* rstdOut, const aclTensor* xOut) {
  RmsNormCall call;
  call.x = plan.input(x1, "x1");
  call.added = plan.input(x2, "x2");
  call.gamma = plan.input(gamma, "gamma");
  call.eps = epsilon;
  call.y = plan.output(yOut, "yOut");
  call.rstd = unless_empty(optional_output(plan, rstdOut, "rstdOut"));
  call.sum = plan.output(xOut, "xOut");
  rms_norm(plan, call);
}
void AddRmsNormCast(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma,
                    double epsilon, const aclTensor* y1Out, const aclTensor* y2Out, const aclTensor* rstdOut,
                    const aclTensor* xOut) {
  RmsNormCall call;
  call.x = plan.input(x1, "x1");
  call.added = plan.input(x2, "x2");
  call.gamma = plan.input(gamma, "gamma");
  call.eps = epsilon;
  call.y = plan.output(y1Out, "y1Out");
  call.y_too = plan.output(y2Out, "y2Out");
  call.rstd = plan.output(rstdOut, "rstdOut");
  call.sum = plan.output(xOut, "xOut");
  rms_norm(plan, call);
}
// x1 receives the norm, x2 the sum.
void InplaceAddRmsNorm(Plan& plan, aclTensor* x1Ref, aclTensor* x2Ref, const aclTensor* gamma, double epsilon,
                       const aclTensor* rstdOut) {
  RmsNormCall call;
  call.x = plan.output(x1Ref, "x1Ref");
  call.added = plan.output(x2Ref, "x2Ref");
  call.gamma = plan.input(gamma, "gamma");
  call.eps = epsilon;
  call.y = call.x;
  call.sum = call.added;
  call.rstd = plan.output(rstdOut, "rstdOut");
  rms_norm(plan, call);
}

void RmsNormGrad(Plan& plan, const aclTensor* dy, const aclTensor* x, const aclTensor* rstd,
                 const aclTensor* gamma, const aclTensor* dxOut, const aclTensor* dgammaOut) {
  const Operand grad = plan.input(dy, "dy"), in = plan.input(x, "x"), scale = plan.input(rstd, "rstd"),
                weight = plan.input(gamma, "gamma"), dx = plan.output(dxOut, "dxOut"),
                dw = plan.output(dgammaOut, "dgammaOut");
  const Rows rows = rows_of(plan, in, "x", sizes_of(weight));
  require_floating(
      plan, {{grad, "dy"}, {in, "x"}, {scale, "rstd"}, {weight, "gamma"}, {dx, "dxOut"}, {dw, "dgammaOut"}});
  plan.require_same_shape(grad, "dy", in, "x");
  plan.require_same_shape(dx, "dxOut", in, "x");
  require_count(plan, scale, "rstd", rows.count);
  require_count(plan, dw, "dgammaOut", rows.length);
  plan.run([=](const aclOpExecutor& e) {
    const k::Dense g(grad.view(e), grad.dtype, k::Access::read),
        values(in.view(e), in.dtype, k::Access::read), to(dx.view(e), dx.dtype, k::Access::write);
    const View w = weight.view(e), to_weight = dw.view(e);
    k::rms_norm_backward(g.view(), values.view(), scale.view(e), &w, 0, &to.view(), &to_weight, rows.count,
                         rows.length);
    to.store();
  });
}

}  // namespace softnpu::ops
