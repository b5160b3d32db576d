// Convolutions of one to three dimensions, transposed and not, and their gradients.
#include "kernels/conv/conv.h"

#include "kernels/elementwise/functors.h"
#include "kernels/reduce/reduce.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// [N, C, space...] seen with three dimensions of space.
Operand with_three_dims(const Operand& operand) {
  Operand result = operand;
  while (result.ndim < 5) result = unsqueezed(result, 2);
  return result;
}

// `wide` is the side a convolution reads, `narrow` the one it makes; a transposed one goes from narrow to wide.
struct ConvolutionShape {
  k::ConvOptions options{{1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 1};
  bool transposed;
  std::vector<int64_t> result;  // the shape of what is made

  static void take(std::array<int64_t, 3>& to, const std::vector<int64_t>& values) {
    std::copy(values.begin(), values.end(), to.end() - std::ptrdiff_t(values.size()));
  }

  ConvolutionShape(const Plan& plan, const Operand& input, const Operand& weight, const aclIntArray* stride,
                   const aclIntArray* padding, const aclIntArray* dilation, bool is_transposed,
                   const aclIntArray* output_padding, int64_t groups)
      : transposed(is_transposed) {
    if (input.ndim < 3 || input.ndim > 5)
      plan.invalid("tensor 'input' has shape ", shape_text(input), ", wanted 3 to 5 dimensions");
    plan.require_ndim(weight, "weight", input.ndim);
    const size_t n = size_t(input.ndim) - 2;
    const std::vector<int64_t> steps = list_for(plan, stride, "stride", n),
                               pads = symmetric(plan, padding, n),
                               spread = list_for(plan, dilation, "dilation", n),
                               extra = transposed ? list_for(plan, output_padding, "outputPadding", n)
                                                  : std::vector<int64_t>(n, 0);
    require_at_least(plan, steps, "stride", 1);
    require_at_least(plan, pads, "padding", 0);
    require_at_least(plan, spread, "dilation", 1);
    require_at_least(plan, extra, "outputPadding", 0);
    if (groups < 1 || weight.sizes[0] % groups != 0)
      plan.invalid("groups is ", groups, " for a weight of shape ", shape_text(weight));
    const int64_t channels = transposed ? weight.sizes[0] : weight.sizes[1] * groups;
    if (input.sizes[1] != channels)
      plan.invalid("tensor 'input' of shape ", shape_text(input), " has ", input.sizes[1],
                   " channels, the weight of shape ", shape_text(weight), " with ", groups,
                   " group(s) wants ", channels);
    take(options.stride, steps);
    take(options.padding, pads);
    take(options.dilation, spread);
    options.groups = groups;
    result = {input.sizes[0], transposed ? weight.sizes[1] * groups : weight.sizes[0]};
    for (size_t i = 0; i < n; ++i) {
      const int64_t reach = spread[i] * (weight.sizes[2 + i] - 1) + 1, in = input.sizes[2 + i];
      if (weight.sizes[2 + i] < 1) plan.invalid("tensor 'weight' has shape ", shape_text(weight));
      const int64_t size = transposed ? (in - 1) * steps[i] - 2 * pads[i] + reach + extra[i]
                                      : (in + 2 * pads[i] - reach) / steps[i] + 1;
      if (size < 0 || (!transposed && in + 2 * pads[i] < reach))
        plan.invalid("the kernel of shape ", shape_text(weight), " does not fit into the input of shape ",
                     shape_text(input));
      result.push_back(size);
    }
  }

  // Two dimensions may come with four numbers (before and after each), which must agree.
  static std::vector<int64_t> symmetric(const Plan& plan, const aclIntArray* padding, size_t n) {
    std::vector<int64_t> pads = int_list(plan, padding, "padding");
    if (pads.size() != 2 * n || n == 1) return list_for(plan, padding, "padding", n);
    std::vector<int64_t> each;
    for (size_t i = 0; i < n; ++i) {
      if (pads[2 * i] != pads[2 * i + 1])
        plan.invalid("'padding' is different on two sides, ", pads[2 * i], " and ", pads[2 * i + 1],
                     ", which the software NPU does not support");
      each.push_back(pads[2 * i]);
    }
    return each;
  }

  // The dtype of the result decides; the other operands are converted to it where they differ.
  void run(const View& in, const View& weight, const View* bias, const View& out) const {
    if (transposed) k::convolve_transposed(in, weight, bias, out, options);
    else k::convolve(in, weight, bias, out, options);
  }
};

k::Dense read_as(const Operand& operand, const aclOpExecutor& e, DType dtype) {
  return {operand.view(e), dtype, k::Access::read};
}

void convolution(Plan& plan, const ConvolutionShape& how, const Operand& input, const Operand& weight,
                 const std::optional<Operand>& bias, const Operand& output) {
  plan.require_dtype(input, "input", domains::floating);
  plan.require_dtype(weight, "weight", domains::floating);
  plan.require_dtype(output, "output", domains::floating);
  plan.require_shape(output, "output", how.result);
  if (bias) plan.require_dtype(*bias, "bias", domains::floating);
  if (bias) plan.require_shape(*bias, "bias", {how.result[1]});
  const Operand in = with_three_dims(input), kernel = with_three_dims(weight), to = with_three_dims(output);
  plan.run([=](const aclOpExecutor& e) {
    const k::Dense x = read_as(in, e, to.dtype), w = read_as(kernel, e, to.dtype);
    const OptionalDense b(bias, e, k::Access::read, to.dtype);
    how.run(x.view(), w.view(), b.get(), to.view(e));
  });
}

struct Gradients {
  std::optional<Operand> input, weight, bias;
};

void convolution_backward(Plan& plan, const ConvolutionShape& how, const Operand& grad, const Operand& input,
                          const Operand& weight, const Gradients& to) {
  plan.require_dtype(grad, "gradOutput", domains::floating);
  plan.require_dtype(input, "input", domains::floating);
  plan.require_dtype(weight, "weight", domains::floating);
  plan.require_shape(grad, "gradOutput", how.result);
  if (to.input) plan.require_same_shape(*to.input, "gradInput", input, "input");
  if (to.weight) plan.require_same_shape(*to.weight, "gradWeight", weight, "weight");
  if (to.bias) plan.require_shape(*to.bias, "gradBias", {how.result[1]});
  for (const auto& [result, name] : {std::pair{&to.input, "gradInput"}, std::pair{&to.weight, "gradWeight"},
                                     std::pair{&to.bias, "gradBias"}})
    if (*result) plan.require_dtype(**result, name, domains::floating);
  const auto three = [](const std::optional<Operand>& operand) {
    return operand ? std::optional(with_three_dims(*operand)) : std::nullopt;
  };
  const Operand dy = with_three_dims(grad), x = with_three_dims(input), w = with_three_dims(weight);
  const std::optional<Operand> dx = three(to.input), dw = three(to.weight), db = to.bias;
  plan.run([=](const aclOpExecutor& e) {
    if (dx) {
      const k::Dense g = read_as(dy, e, dx->dtype), kernel = read_as(w, e, dx->dtype);
      if (how.transposed) k::convolve(g.view(), kernel.view(), nullptr, dx->view(e), how.options);
      else k::convolve_transposed(g.view(), kernel.view(), nullptr, dx->view(e), how.options);
    }
    if (dw) {
      const k::Dense g = read_as(dy, e, dw->dtype), in = read_as(x, e, dw->dtype);
      const View &wide = how.transposed ? g.view() : in.view(),
                 &narrow = how.transposed ? in.view() : g.view();
      k::convolve_weight(wide, narrow, dw->view(e), how.options);
    }
    if (db) {
      // The sum over everything but the channels.
      Operand channels = unsqueezed(*db, 0);
      for (int i = 0; i < 3; ++i) channels = unsqueezed(channels, channels.ndim);
      k::reduce<k::sum_op>(dy.view(e), channels.view(e));
    }
  });
}

}  // namespace

void Convolution(Plan& plan, const aclTensor* input, const aclTensor* weight, const aclTensor* bias,
                 const aclIntArray* stride, const aclIntArray* padding, const aclIntArray* dilation,
                 bool transposed, const aclIntArray* outputPadding, const int64_t groups, aclTensor* output,
                 int8_t) {
  const Operand in = plan.input(input, "input"), kernel = plan.input(weight, "weight");
  const std::optional<Operand> shift = plan.optional_input(bias, "bias");
  const Operand out = plan.output(output, "output");
  const ConvolutionShape how(plan, in, kernel, stride, padding, dilation, transposed, outputPadding, groups);
  convolution(plan, how, in, kernel, shift, out);
}

void ConvolutionBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* input,
                         const aclTensor* weight, const aclIntArray* biasSizes, const aclIntArray* stride,
                         const aclIntArray* padding, const aclIntArray* dilation, bool transposed,
                         const aclIntArray* outputPadding, int groups, const aclBoolArray* outputMask, int8_t,
                         aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), in = plan.input(input, "input"),
                kernel = plan.input(weight, "weight");
  const Gradients to{masked_output(plan, gradInput, "gradInput", wanted(outputMask, 0)),
                     masked_output(plan, gradWeight, "gradWeight", wanted(outputMask, 1)),
                     masked_output(plan, gradBias, "gradBias", wanted(outputMask, 2))};
  const ConvolutionShape how(plan, in, kernel, stride, padding, dilation, transposed, outputPadding, groups);
  convolution_backward(plan, how, grad, in, kernel, to);
}

void ConvDepthwise2d(Plan& plan, const aclTensor* self, const aclTensor* weight,
                     const aclIntArray* kernelSize, const aclTensor* bias, const aclIntArray* stride,
                     const aclIntArray* padding, const aclIntArray* dilation, aclTensor* out, int8_t) {
  const Operand in = plan.input(self, "self"), kernel = plan.input(weight, "weight");
  const std::optional<Operand> shift = plan.optional_input(bias, "bias");
  const Operand to = plan.output(out, "out");
  plan.require_ndim(in, "self", 4);
  plan.require_ndim(kernel, "weight", 4);
  const std::vector<int64_t> window = list_for(plan, kernelSize, "kernelSize", 2);
  if (window[0] != kernel.sizes[2] || window[1] != kernel.sizes[3] || kernel.sizes[1] != 1)
    plan.invalid("tensor 'weight' has shape ", shape_text(kernel), ", wanted [channels, 1, ", window[0], ", ",
                 window[1], "]");
  const ConvolutionShape how(plan, in, kernel, stride, padding, dilation, false, nullptr, in.sizes[1]);
  convolution(plan, how, in, kernel, shift, to);
}

namespace {

// Time first, channels last: [T, B, C] and a weight of [K, in, out].
ConvolutionShape time_convolution(const Plan& plan, const Operand& in, const Operand& weight, int64_t pad) {
  aclIntArray one, padding;
  const int64_t unit = 1;
  one.values.assign(&unit, 1);
  padding.values.assign(&pad, 1);
  return {plan, in, weight, &one, &padding, &one, false, nullptr, 1};
}

}  // namespace

void ConvTbc(Plan& plan, const aclTensor* self, const aclTensor* weight, const aclTensor* bias,
             const int64_t pad, aclTensor* output, int8_t) {
  const Operand in = plan.input(self, "self"), kernel = plan.input(weight, "weight"),
                shift = plan.input(bias, "bias"), out = plan.output(output, "output");
  for (const auto& [operand, name] :
       {std::pair{&in, "self"}, std::pair{&kernel, "weight"}, std::pair{&out, "output"}})
    plan.require_ndim(*operand, name, 3);
  const Operand x = permuted(in, {1, 2, 0}), w = permuted(kernel, {2, 1, 0});
  convolution(plan, time_convolution(plan, x, w, pad), x, w, shift, permuted(out, {1, 2, 0}));
}

void ConvTbcBackward(Plan& plan, const aclTensor* self, const aclTensor* input, const aclTensor* weight,
                     const aclTensor* bias, int64_t pad, int8_t, aclTensor* gradInput, aclTensor* gradWeight,
                     aclTensor* gradBias) {
  const Operand grad = plan.input(self, "self"), in = plan.input(input, "input"),
                kernel = plan.input(weight, "weight"), shift = plan.input(bias, "bias"),
                dx = plan.output(gradInput, "gradInput"), dw = plan.output(gradWeight, "gradWeight"),
                db = plan.output(gradBias, "gradBias");
  for (const auto& [operand, name] :
       {std::pair{&grad, "self"}, std::pair{&in, "input"}, std::pair{&kernel, "weight"},
        std::pair{&dx, "gradInput"}, std::pair{&dw, "gradWeight"}})
    plan.require_ndim(*operand, name, 3);
  plan.require_same_shape(shift, "bias", db, "gradBias");
  const Operand x = permuted(in, {1, 2, 0}), w = permuted(kernel, {2, 1, 0});
  convolution_backward(plan, time_convolution(plan, x, w, pad), permuted(grad, {1, 2, 0}), x, w,
                       {permuted(dx, {1, 2, 0}), permuted(dw, {2, 1, 0}), db});
}

}  // namespace softnpu::ops
