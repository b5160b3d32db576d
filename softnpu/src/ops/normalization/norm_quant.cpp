// RMS norms whose results are brought to int8 at once.
#include "kernels/common/dense.h"
#include "op_plans.h"
#include "ops/common/arguments.h"
#include "ops/common/row_quantization.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// A result in int8: by fixed scales and offsets of each column, or by a scale of each row, which is a result too.
struct Quantized {
  std::optional<Operand> scale,
      offset;  // fixed: one number or one for each column; else `scale` smooths columns
  Operand out;
  std::optional<Operand> row_scale;
};

struct NormQuant {
  Operand x1;
  std::optional<Operand> x2, gamma, beta, sum_out, norm_out;
  std::vector<Quantized> results;
  double epsilon;
  bool divide = true;

  int64_t width() const { return gamma->numel(); }
};

void check(const Plan& plan, const NormQuant& c) {
  plan.require_dtype(c.x1, "x", kUpToFloat);
  if (c.x1.ndim < 1 || c.x1.sizes[c.x1.ndim - 1] != c.width())
    plan.invalid("tensor 'x' has shape ", shape_text(c.x1), ", wanted rows of ", c.width(), " as 'gamma'");
  for (const auto& [operand, name] :
       {std::pair{&c.x2, "x2"}, std::pair{&c.sum_out, "xOut"}, std::pair{&c.norm_out, "rmsNormOut"}})
    if (*operand) plan.require_same_shape(**operand, name, c.x1, "x1");
  if (c.beta && c.beta->numel() != c.width())
    plan.invalid("tensor 'beta' has shape ", shape_text(*c.beta), ", wanted ", c.width(), " numbers");
  for (const Quantized& q : c.results) {
    plan.require_dtype(q.out, "yOut", k::dtype_set(DType::int8));
    plan.require_same_shape(q.out, "yOut", c.x1, "x");
    for (const auto& [operand, name] : {std::pair{&q.scale, "scale"}, std::pair{&q.offset, "offset"}})
      if (*operand && (*operand)->numel() != 1 && (*operand)->numel() != c.width())
        plan.invalid("tensor '", name, "' has shape ", shape_text(**operand), ", wanted 1 or ", c.width(),
                     " numbers");
    if (q.row_scale) {
      std::vector<int64_t> wanted = sizes_of(c.x1);
      wanted.pop_back();
      plan.require_shape(*q.row_scale, "scaleOut", wanted);
    }
  }
}

void run(const NormQuant& c, const aclOpExecutor& e) {
  const View first = c.x1.view(e);
  const int64_t width = c.width(), rows = width == 0 ? 0 : c.x1.numel() / width;
  // The sum is rounded to its dtype, as it is a result.
  const k::Temporary sum(first, c.x1.dtype);
  k::copy(first, sum.view());
  if (c.x2) {
    const k::DenseInput<float> a(first), b(c.x2->view(e));
    const k::DenseOutput<float> to(sum.view());
    for (int64_t i = 0; i < to.numel(); ++i) to[i] = a[i] + b[i];
    to.store();
  }
  if (c.sum_out) k::copy(sum.view(), c.sum_out->view(e));
  const k::DenseInput<float> x(sum.view()), gamma(c.gamma->view(e));
  const OptionalDense beta(c.beta, e, k::Access::read, DType::float32);
  const k::Temporary normed(first, DType::float32);
  float* y = normed.view().as<float>();
  for (int64_t row = 0; row < rows; ++row) {
    float squares = 0;
    for (int64_t i = 0; i < width; ++i) squares += x[row * width + i] * x[row * width + i];
    const float divisor = std::sqrt(squares / float(width) + float(c.epsilon));
    for (int64_t i = 0; i < width; ++i)
      y[row * width + i] =
          x[row * width + i] / divisor * gamma[i] + (beta.get() ? beta.get()->as<float>()[i] : 0);
  }
  if (c.norm_out) k::copy(normed.view(), c.norm_out->view(e));
  for (const Quantized& q : c.results) {
    const OptionalDense scale(q.scale, e, k::Access::read, DType::float32),
        offset(q.offset, e, k::Access::read, DType::float32),
        row_scale(q.row_scale, e, k::Access::write, DType::float32);
    const k::DenseOutput<int8_t> to(q.out.view(e));
    const auto number = [&](const OptionalDense& of, const std::optional<Operand>& operand, int64_t i,
                            float otherwise) {
      return of.get() ? of.get()->as<float>()[operand->numel() == 1 ? 0 : i] : otherwise;
    };
    for (int64_t row = 0; row < rows; ++row) {
      const float* own = y + row * width;
      if (row_scale.get()) {
        row_scale.get()->as<float>()[row] = quantise_row(
            own, scale.get() ? scale.get()->as<float>() : nullptr, width, to.data() + row * width);
        continue;
      }
      for (int64_t i = 0; i < width; ++i) {
        const float by = number(scale, q.scale, i, 1);
        to[row * width + i] =
            to_int8((c.divide ? own[i] / by : own[i] * by) + number(offset, q.offset, i, 0));
      }
    }
    to.store();
    row_scale.store();
  }
}

void plan_run(Plan& plan, const NormQuant& c) {
  check(plan, c);
  plan.run([call = std::make_shared<const NormQuant>(c)](const aclOpExecutor& e) { run(*call, e); });
}

void add_norm_quant(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma,
                    const aclTensor* scales1, const aclTensor* scales2, const aclTensor* zeroPoints1,
                    const aclTensor* zeroPoints2, const aclTensor* beta, double epsilon, bool divMode,
                    const aclTensor* y1Out, const aclTensor* y2Out, const aclTensor* xOut,
                    const aclTensor* rmsNormOut) {
  NormQuant c;
  c.x1 = plan.input(x1, "x1"), c.x2 = plan.input(x2, "x2"), c.gamma = plan.input(gamma, "gamma");
  const std::optional<Operand> first_scale = plan.input(scales1, "scales1"),
                               second_scale = unless_empty(plan.optional_input(scales2, "scales2")),
                               first_offset = unless_empty(plan.optional_input(zeroPoints1, "zeroPoints1")),
                               second_offset = unless_empty(plan.optional_input(zeroPoints2, "zeroPoints2"));
  c.beta = unless_empty(plan.optional_input(beta, "beta"));
  const Operand first = plan.output(y1Out, "y1Out");
  const std::optional<Operand> second = masked_output(plan, y2Out, "y2Out", second_scale.has_value());
  c.sum_out = plan.output(xOut, "xOut");
  c.norm_out = unless_empty(optional_output(plan, rmsNormOut, "rmsNormOut"));
  c.results.push_back({first_scale, first_offset, first, std::nullopt});
  if (second) c.results.push_back({second_scale, second_offset, *second, std::nullopt});
  c.epsilon = epsilon, c.divide = divMode;
  plan_run(plan, c);
}

}  // namespace

void RmsNormQuant(Plan& plan, const aclTensor* x, const aclTensor* gamma, const aclTensor* beta,
                  const aclTensor* scale, const aclTensor* offset, double epsilon, aclTensor* y) {
  NormQuant c;
  c.x1 = plan.input(x, "x"), c.gamma = plan.input(gamma, "gamma"), c.beta = plan.input(beta, "beta");
  const Operand by = plan.input(scale, "scale"), shift = plan.input(offset, "offset"),
                to = plan.output(y, "y");
  c.results.push_back({by, shift, to, std::nullopt});
  c.epsilon = epsilon;
  plan_run(plan, c);
}
void AddRmsNormQuant(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma,
                     const aclTensor* scales1, const aclTensor* scales2Optional,
                     const aclTensor* zeroPoints1Optional, const aclTensor* zeroPoints2Optional, int64_t axis,
                     double epsilon, bool divMode, const aclTensor* y1Out, const aclTensor* y2Out,
                     const aclTensor* xOut) {
  add_norm_quant(plan, x1, x2, gamma, scales1, scales2Optional, zeroPoints1Optional, zeroPoints2Optional,
                 nullptr, epsilon, divMode, y1Out, y2Out, xOut, nullptr);
}
void AddRmsNormQuantV2(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma,
                       const aclTensor* scales1, const aclTensor* scales2Optional,
                       const aclTensor* zeroPoints1Optional, const aclTensor* zeroPoints2Optional,
                       const aclTensor* betaOptional, int64_t axis, double epsilon, bool divMode,
                       aclTensor* y1Out, aclTensor* y2Out, aclTensor* xOut, aclTensor* rmsNormOut) {
  add_norm_quant(plan, x1, x2, gamma, scales1, scales2Optional, zeroPoints1Optional, zeroPoints2Optional,
                 betaOptional, epsilon, divMode, y1Out, y2Out, xOut, rmsNormOut);
}
void AddRmsNormDynamicQuantV2(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma,
                              const aclTensor* smoothScale1Optional, const aclTensor* smoothScale2Optional,
                              const aclTensor* betaOptional, double epsilon, const aclBoolArray* outputMask,
                              aclTensor* y1Out, aclTensor* y2Out, aclTensor* xOut, aclTensor* scale1Out,
                              aclTensor* scale2Out) {
  NormQuant c;
  c.x1 = plan.input(x1, "x1"), c.x2 = plan.input(x2, "x2"), c.gamma = plan.input(gamma, "gamma");
  const std::optional<Operand> first_smooth =
                                   unless_empty(plan.optional_input(smoothScale1Optional, "smoothScale1")),
                               second_smooth =
                                   unless_empty(plan.optional_input(smoothScale2Optional, "smoothScale2"));
  c.beta = unless_empty(plan.optional_input(betaOptional, "beta"));
  // Without a mask, the second result is there with its smoothing.
  const bool masked = outputMask != nullptr && outputMask->values.size() == 2;
  const bool wants_first = !masked || wanted(outputMask, 0),
             wants_second = masked ? wanted(outputMask, 1) : second_smooth.has_value();
  const std::optional<Operand> first = masked_output(plan, y1Out, "y1Out", wants_first),
                               second = masked_output(plan, y2Out, "y2Out", wants_second);
  c.sum_out = plan.output(xOut, "xOut");
  const std::optional<Operand> first_scale = masked_output(plan, scale1Out, "scale1Out", wants_first),
                               second_scale = masked_output(plan, scale2Out, "scale2Out", wants_second);
  if (first) c.results.push_back({first_smooth, std::nullopt, *first, first_scale});
  if (second) c.results.push_back({second_smooth, std::nullopt, *second, second_scale});
  c.epsilon = epsilon;
  for (const auto& smooth : {first_smooth, second_smooth})
    if (smooth && smooth->numel() != c.width())
      plan.invalid("tensor 'smoothScale' has shape ", shape_text(*smooth), ", wanted ", c.width(),
                   " numbers");
  plan_run(plan, c);
}

}  // namespace softnpu::ops
