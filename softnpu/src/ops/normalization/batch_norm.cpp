// Batch normalisation, whole and in the steps that several devices share; instance normalisation.
#include <cmath>

#include "kernels/normalization/normalization.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

void require_batch(const Plan& plan, const Operand& in, const char* name) {
  if (in.ndim < 2) plan.invalid("tensor '", name, "' has shape ", shape_text(in), ", wanted [N, C, ...]");
  plan.require_dtype(in, name, domains::floating);
}
// A vector with a number for each channel.
void require_channels(const Plan& plan, const std::optional<Operand>& vector, const char* name,
                      const Operand& in) {
  if (!vector) return;
  plan.require_dtype(*vector, name, domains::floating);
  plan.require_shape(*vector, name, {in.sizes[1]});
}

// The loops' layout of a dense [N, C, space...].
k::ChannelLayout layout_of(const Operand& in) {
  const int64_t planes = in.sizes[0] * in.sizes[1];
  return {in.sizes[0], in.sizes[1], planes ? in.numel() / planes : 0, false};
}
k::Dense dense(const Operand& operand, const aclOpExecutor& e, k::Access access = k::Access::read) {
  return {operand.view(e), operand.dtype, access};
}

void batch_norm_backward(Plan& plan, const aclTensor* gradOut, const aclTensor* input,
                         const aclTensor* weight, const aclTensor* runningMean, const aclTensor* runningVar,
                         const aclTensor* saveMean, const aclTensor* saveInvstd, bool training, double eps,
                         const aclBoolArray* outputMask, const aclTensor* gradInput,
                         const aclTensor* gradWeight, const aclTensor* gradBias) {
  const Operand grad = plan.input(gradOut, "gradOut"), in = plan.input(input, "input");
  const std::optional<Operand> w = plan.optional_input(weight, "weight"),
                               running_mean = plan.optional_input(runningMean, "runningMean"),
                               running_var = plan.optional_input(runningVar, "runningVar"),
                               saved_mean = plan.optional_input(saveMean, "saveMean"),
                               saved_invstd = plan.optional_input(saveInvstd, "saveInvstd"),
                               dx = masked_output(plan, gradInput, "gradInput", wanted(outputMask, 0)),
                               dw = masked_output(plan, gradWeight, "gradWeight", wanted(outputMask, 1)),
                               db = masked_output(plan, gradBias, "gradBias", wanted(outputMask, 2));
  require_batch(plan, in, "input");
  plan.require_same_shape(grad, "gradOut", in, "input");
  plan.require_dtype(grad, "gradOut", domains::floating);
  const std::optional<Operand>&mean = training ? saved_mean : running_mean,
        &spread = training ? saved_invstd : running_var;
  if (!mean) plan.null_argument(training ? "saveMean" : "runningMean");
  if (!spread) plan.null_argument(training ? "saveInvstd" : "runningVar");
  require_channels(plan, w, "weight", in);
  require_channels(plan, mean, "mean", in);
  require_channels(plan, spread, "invstd", in);
  require_channels(plan, dw, "gradWeight", in);
  require_channels(plan, db, "gradBias", in);
  if (dx) plan.require_same_shape(*dx, "gradInput", in, "input");
  plan.run([=, center = *mean, scale = *spread](const aclOpExecutor& e) {
    const OptionalView weights(w, e), to_input(dx, e), to_weight(dw, e), to_bias(db, e);
    k::batch_norm_backward(grad.view(e), in.view(e), weights.get(), center.view(e), scale.view(e),
                           {training, 0, eps}, to_input.get(), to_weight.get(), to_bias.get());
  });
}

// New running statistics from the batch's.
void update_running(const View* running, const std::vector<double>& fresh, double momentum) {
  if (!running) return;
  std::vector<double> values = k::numbers(*running);
  for (size_t c = 0; c < values.size(); ++c) values[c] = momentum * fresh[c] + (1 - momentum) * values[c];
  k::put_numbers(values, running);
}

}  // namespace

void BatchNorm(Plan& plan, const aclTensor* input, const aclTensor* weight, const aclTensor* bias,
               aclTensor* runningMean, aclTensor* runningVar, bool training, double momentum, double eps,
               aclTensor* output, aclTensor* saveMean, aclTensor* saveInvstd) {
  const Operand in = plan.input(input, "input");
  const std::optional<Operand> w = plan.optional_input(weight, "weight"),
                               b = plan.optional_input(bias, "bias"),
                               running_mean = optional_output(plan, runningMean, "runningMean"),
                               running_var = optional_output(plan, runningVar, "runningVar");
  const Operand out = plan.output(output, "output");
  const std::optional<Operand> mean = unless_empty(optional_output(plan, saveMean, "saveMean")),
                               invstd = unless_empty(optional_output(plan, saveInvstd, "saveInvstd"));
  require_batch(plan, in, "input");
  plan.require_dtype(out, "output", domains::floating);
  plan.require_same_shape(in, "input", out, "output");
  for (const auto& [vector, name] :
       {std::pair{&w, "weight"}, std::pair{&b, "bias"}, std::pair{&running_mean, "runningMean"},
        std::pair{&running_var, "runningVar"}, std::pair{&mean, "saveMean"},
        std::pair{&invstd, "saveInvstd"}})
    require_channels(plan, *vector, name, in);
  if (!training && !running_mean) plan.null_argument("runningMean");
  if (!training && !running_var) plan.null_argument("runningVar");
  plan.run([=](const aclOpExecutor& e) {
    const OptionalView weights(w, e), shifts(b, e), center(running_mean, e), spread(running_var, e),
        saved_mean(mean, e), saved_invstd(invstd, e);
    k::batch_norm(in.view(e), weights.get(), shifts.get(), center.get(), spread.get(),
                  {training, momentum, eps}, out.view(e), saved_mean.get(), saved_invstd.get());
  });
}

void BatchNormBackward(Plan& plan, const aclTensor* gradOut, const aclTensor* input, const aclTensor* weight,
                       const aclTensor* runningMean, const aclTensor* runningVar, const aclTensor* saveMean,
                       const aclTensor* saveInvstd, bool training, double eps, const aclBoolArray* outputMask,
                       aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias) {
  batch_norm_backward(plan, gradOut, input, weight, runningMean, runningVar, saveMean, saveInvstd, training,
                      eps, outputMask, gradInput, gradWeight, gradBias);
}
void FastBatchNormBackward(Plan& plan, const aclTensor* gradOut, const aclTensor* input,
                           const aclTensor* weight, const aclTensor* runningMean, const aclTensor* runningVar,
                           const aclTensor* saveMean, const aclTensor* saveInvstd, bool training, double eps,
                           const aclBoolArray* outputMask, int, aclTensor* gradInput, aclTensor* gradWeight,
                           aclTensor* gradBias) {
  batch_norm_backward(plan, gradOut, input, weight, runningMean, runningVar, saveMean, saveInvstd, training,
                      eps, outputMask, gradInput, gradWeight, gradBias);
}

void BatchNormStats(Plan& plan, const aclTensor* input, double eps, aclTensor* mean, aclTensor* invstd) {
  const Operand in = plan.input(input, "input"), center = plan.output(mean, "mean"),
                spread = plan.output(invstd, "invstd");
  require_batch(plan, in, "input");
  require_channels(plan, center, "mean", in);
  require_channels(plan, spread, "invstd", in);
  plan.run([=](const aclOpExecutor& e) {
    std::vector<double> means(size_t(in.sizes[1])), variances(size_t(in.sizes[1]));
    k::channel_moments(dense(in, e).view(), layout_of(in), means.data(), variances.data());
    for (double& v : variances) v = 1 / std::sqrt(v + eps);
    const View first = center.view(e), second = spread.view(e);
    k::put_numbers(means, &first);
    k::put_numbers(variances, &second);
  });
}

void BatchNormReduce(Plan& plan, const aclTensor* x, aclTensor* sum, aclTensor* squareSum) {
  const Operand in = plan.input(x, "x"), sums = plan.output(sum, "sum"),
                squares = plan.output(squareSum, "squareSum");
  require_batch(plan, in, "x");
  require_channels(plan, sums, "sum", in);
  require_channels(plan, squares, "squareSum", in);
  plan.run([=](const aclOpExecutor& e) {
    const size_t channels = size_t(in.sizes[1]);
    const k::Dense values = dense(in, e);
    std::vector<double> total(channels), square(channels), zero(channels);
    k::channel_products(values.view(), values.view(), layout_of(in), zero.data(), total.data(),
                        square.data());
    const View first = sums.view(e), second = squares.view(e);
    k::put_numbers(total, &first);
    k::put_numbers(square, &second);
  });
}

void BatchNormElemt(Plan& plan, const aclTensor* input, const aclTensor* weight, const aclTensor* bias,
                    aclTensor* mean, aclTensor* invstd, double, aclTensor* output) {
  const Operand in = plan.input(input, "input");
  const std::optional<Operand> w = plan.optional_input(weight, "weight"),
                               b = plan.optional_input(bias, "bias");
  const Operand center = plan.input(mean, "mean"), spread = plan.input(invstd, "invstd"),
                out = plan.output(output, "output");
  require_batch(plan, in, "input");
  plan.require_dtype(out, "output", domains::floating);
  plan.require_same_shape(in, "input", out, "output");
  for (const auto& [vector, name] :
       {std::pair{w, "weight"}, std::pair{b, "bias"}, std::pair{std::optional(center), "mean"},
        std::pair{std::optional(spread), "invstd"}})
    require_channels(plan, vector, name, in);
  plan.run([=](const aclOpExecutor& e) {
    const OptionalView weights(w, e), shifts(b, e);
    std::vector<double> scale = k::numbers(spread.view(e)),
                        shift = k::numbers_or(shifts.get(), in.sizes[1], 0);
    const std::vector<double> means = k::numbers(center.view(e)),
                              factor = k::numbers_or(weights.get(), in.sizes[1], 1);
    for (size_t c = 0; c < scale.size(); ++c) {
      scale[c] *= factor[c];
      shift[c] -= means[c] * scale[c];
    }
    const k::Dense to = dense(out, e, k::Access::write);
    k::channel_affine(dense(in, e).view(), to.view(), layout_of(in), scale.data(), shift.data());
    to.store();
  });
}

void BatchNormReduceBackward(Plan& plan, const aclTensor* gradOut, const aclTensor* input,
                             const aclTensor* mean, const aclTensor* invstd, const aclTensor* weight,
                             const bool inputG, const bool weightG, const bool biasG, aclTensor* sumDy,
                             aclTensor* sumDyXmu, aclTensor* gradWeight, aclTensor* gradBias) {
  const Operand grad = plan.input(gradOut, "gradOut"), in = plan.input(input, "input"),
                center = plan.input(mean, "mean"), spread = plan.input(invstd, "invstd");
  plan.optional_input(weight, "weight");
  const std::optional<Operand> sums = masked_output(plan, sumDy, "sumDy", inputG),
                               products = masked_output(plan, sumDyXmu, "sumDyXmu", inputG),
                               dw = masked_output(plan, gradWeight, "gradWeight", weightG),
                               db = masked_output(plan, gradBias, "gradBias", biasG);
  require_batch(plan, in, "input");
  plan.require_dtype(grad, "gradOut", domains::floating);
  plan.require_same_shape(grad, "gradOut", in, "input");
  for (const auto& [vector, name] :
       {std::pair{std::optional(center), "mean"}, std::pair{std::optional(spread), "invstd"},
        std::pair{sums, "sumDy"}, std::pair{products, "sumDyXmu"}, std::pair{dw, "gradWeight"},
        std::pair{db, "gradBias"}})
    require_channels(plan, vector, name, in);
  plan.run([=](const aclOpExecutor& e) {
    const size_t channels = size_t(in.sizes[1]);
    const std::vector<double> means = k::numbers(center.view(e)), scales = k::numbers(spread.view(e));
    std::vector<double> total(channels), product(channels);
    k::channel_products(dense(grad, e).view(), dense(in, e).view(), layout_of(in), means.data(), total.data(),
                        product.data());
    const OptionalView to_sum(sums, e), to_product(products, e), to_weight(dw, e), to_bias(db, e);
    k::put_numbers(total, to_sum.get());
    k::put_numbers(total, to_bias.get());
    k::put_numbers(product, to_product.get());
    for (size_t c = 0; c < channels; ++c) product[c] *= scales[c];
    k::put_numbers(product, to_weight.get());
  });
}

void BatchNormElemtBackward(Plan& plan, const aclTensor* gradOut, const aclTensor* input,
                            const aclTensor* mean, const aclTensor* invstd, const aclTensor* weight,
                            const aclTensor* sumDy, const aclTensor* sumDyXmu, aclTensor* counter,
                            aclTensor* gradInput) {
  const Operand grad = plan.input(gradOut, "gradOut"), in = plan.input(input, "input"),
                center = plan.input(mean, "mean"), spread = plan.input(invstd, "invstd");
  const std::optional<Operand> w = plan.optional_input(weight, "weight");
  const Operand sums = plan.input(sumDy, "sumDy"), products = plan.input(sumDyXmu, "sumDyXmu"),
                counts = plan.input(counter, "counter"), to = plan.output(gradInput, "gradInput");
  require_batch(plan, in, "input");
  plan.require_dtype(grad, "gradOut", domains::floating);
  plan.require_dtype(counts, "counter", domains::real);
  plan.require_same_shape(grad, "gradOut", in, "input");
  plan.require_same_shape(to, "gradInput", in, "input");
  for (const auto& [vector, name] :
       {std::pair{std::optional(center), "mean"}, std::pair{std::optional(spread), "invstd"},
        std::pair{w, "weight"}, std::pair{std::optional(sums), "sumDy"},
        std::pair{std::optional(products), "sumDyXmu"}})
    require_channels(plan, vector, name, in);
  plan.run([=](const aclOpExecutor& e) {
    const OptionalView weights(w, e);
    const std::vector<double> means = k::numbers(center.view(e)), scales = k::numbers(spread.view(e)),
                              total = k::numbers(sums.view(e)), product = k::numbers(products.view(e)),
                              factor = k::numbers_or(weights.get(), in.sizes[1], 1);
    double count = 0;
    for (const double part : k::numbers(counts.view(e))) count += part;
    std::vector<double> a(means.size()), b(means.size()), constant(means.size());
    for (size_t c = 0; c < means.size(); ++c) {
      a[c] = scales[c] * factor[c];
      b[c] = -a[c] * scales[c] * scales[c] * product[c] / count;
      constant[c] = -a[c] * total[c] / count - b[c] * means[c];
    }
    const k::Dense result = dense(to, e, k::Access::write);
    k::channel_blend(dense(grad, e).view(), dense(in, e).view(), result.view(), layout_of(in), a.data(),
                     b.data(), constant.data());
    result.store();
  });
}

void BatchNormGatherStatsWithCounts(Plan& plan, const aclTensor* input, const aclTensor* mean,
                                    const aclTensor* invstd, aclTensor* runningMean, aclTensor* runningVar,
                                    double momentum, double eps, const aclTensor* counts, aclTensor* meanAll,
                                    aclTensor* invstdAll) {
  const Operand in = plan.input(input, "input"), means = plan.input(mean, "mean"),
                spreads = plan.input(invstd, "invstd");
  const std::optional<Operand> running_mean = optional_output(plan, runningMean, "runningMean"),
                               running_var = optional_output(plan, runningVar, "runningVar");
  const Operand numbers = plan.input(counts, "counts"), to_mean = plan.output(meanAll, "meanAll"),
                to_spread = plan.output(invstdAll, "invstdAll");
  require_batch(plan, in, "input");
  plan.require_ndim(means, "mean", 2);
  plan.require_same_shape(means, "mean", spreads, "invstd");
  plan.require_shape(means, "mean", {numbers.numel(), in.sizes[1]});
  plan.require_dtype(numbers, "counts", domains::real);
  for (const auto& [vector, name] :
       {std::pair{running_mean, "runningMean"}, std::pair{running_var, "runningVar"},
        std::pair{std::optional(to_mean), "meanAll"}, std::pair{std::optional(to_spread), "invstdAll"}})
    require_channels(plan, vector, name, in);
  plan.run([=](const aclOpExecutor& e) {
    const std::vector<double> centers = k::numbers(means.view(e)), scales = k::numbers(spreads.view(e)),
                              shares = k::numbers(numbers.view(e));
    const size_t channels = size_t(in.sizes[1]);
    std::vector<double> all(channels), unbiased(channels), result(channels);
    for (size_t c = 0; c < channels; ++c) {
      double count = 0, center = 0, squares = 0;
      for (size_t part = 0; part < shares.size(); ++part) {
        const double n = shares[part], scale = scales[part * channels + c],
                     gap = centers[part * channels + c] - center;
        squares += (1 / (scale * scale) - eps) * n + gap * gap * count * n / (count + n);
        center += gap * n / (count + n);
        count += n;
      }
      all[c] = center;
      unbiased[c] = squares / (count - 1);
      result[c] = 1 / std::sqrt(squares / count + eps);
    }
    const OptionalView first(running_mean, e), second(running_var, e);
    update_running(first.get(), all, momentum);
    update_running(second.get(), unbiased, momentum);
    const View to_all = to_mean.view(e), to_result = to_spread.view(e);
    k::put_numbers(all, &to_all);
    k::put_numbers(result, &to_result);
  });
}

void SyncBatchNormGatherStats(Plan& plan, const aclTensor* totalSum, const aclTensor* totalSquareSum,
                              const aclTensor* sampleCount, aclTensor* mean, aclTensor* variance,
                              float momentum, float eps, aclTensor* batchMean, aclTensor* batchInvstd) {
  const Operand sums = plan.input(totalSum, "totalSum"),
                squares = plan.input(totalSquareSum, "totalSquareSum"),
                counts = plan.input(sampleCount, "sampleCount"), running_mean = plan.output(mean, "mean"),
                running_var = plan.output(variance, "variance"),
                to_mean = plan.output(batchMean, "batchMean"),
                to_spread = plan.output(batchInvstd, "batchInvstd");
  plan.require_ndim(sums, "totalSum", 2);
  plan.require_same_shape(sums, "totalSum", squares, "totalSquareSum");
  plan.require_shape(counts, "sampleCount", {sums.sizes[0]});
  for (const auto& [vector, name] :
       {std::pair{&running_mean, "mean"}, std::pair{&running_var, "variance"},
        std::pair{&to_mean, "batchMean"}, std::pair{&to_spread, "batchInvstd"}}) {
    plan.require_shape(*vector, name, {sums.sizes[1]});
    plan.require_dtype(*vector, name, domains::floating);
  }
  plan.run([=](const aclOpExecutor& e) {
    const std::vector<double> total = k::numbers(sums.view(e)), square = k::numbers(squares.view(e));
    double count = 0;
    for (const double part : k::numbers(counts.view(e))) count += part;
    const size_t channels = size_t(sums.sizes[1]);
    std::vector<double> center(channels), unbiased(channels), result(channels);
    for (size_t i = 0; i < total.size(); ++i) {
      center[i % channels] += total[i] / count;
      unbiased[i % channels] += square[i];
    }
    for (size_t c = 0; c < channels; ++c) {
      const double spread = std::max(unbiased[c] - center[c] * center[c] * count, 0.0);
      unbiased[c] = spread / (count - 1);
      result[c] = 1 / std::sqrt(spread / count + double(eps));
    }
    const View first = running_mean.view(e), second = running_var.view(e), to_all = to_mean.view(e),
               to_result = to_spread.view(e);
    update_running(&first, center, momentum);
    update_running(&second, unbiased, momentum);
    k::put_numbers(center, &to_all);
    k::put_numbers(result, &to_result);
  });
}

void InstanceNorm(Plan& plan, const aclTensor* x, const aclTensor* gamma, const aclTensor* beta,
                  const char* dataFormat, double eps, aclTensor* y, aclTensor* mean, aclTensor* variance) {
  Operand in = plan.input(x, "x");
  const Operand w = plan.input(gamma, "gamma"), b = plan.input(beta, "beta");
  Operand out = plan.output(y, "y"), center = plan.output(mean, "mean"),
          spread = plan.output(variance, "variance");
  plan.require_ndim(in, "x", 4);
  plan.require_same_shape(in, "x", out, "y");
  plan.require_dtype(in, "x", domains::floating);
  plan.require_dtype(out, "y", domains::floating);
  const std::string_view format = text_of(dataFormat, "NCHW");
  if (format != "NCHW" && format != "NHWC")
    plan.invalid("dataFormat is '", format, "', wanted 'NCHW' or 'NHWC'");
  if (format == "NHWC") in = permuted(in, {0, 3, 1, 2}), out = permuted(out, {0, 3, 1, 2});
  require_channels(plan, w, "gamma", in);
  require_channels(plan, b, "beta", in);
  for (const auto& [statistic, name] : {std::pair{&center, "mean"}, std::pair{&spread, "variance"}})
    if (statistic->numel() != in.sizes[0] * in.sizes[1])
      plan.invalid("tensor '", name, "' has shape ", shape_text(*statistic), ", wanted ",
                   in.sizes[0] * in.sizes[1], " elements");
  plan.run([=](const aclOpExecutor& e) {
    // Every channel of every sample is a group of its own; what is kept is the variance.
    const k::Dense values = dense(in, e), to = dense(out, e, k::Access::write);
    const View weights = w.view(e), shifts = b.view(e), to_mean = center.view(e), to_spread = spread.view(e);
    const k::GroupNormShape shape{in.sizes[0], in.sizes[1], in.sizes[2] * in.sizes[3], in.sizes[1]};
    const k::Temporary rstd({shape.batch * shape.groups}, DType::float64);
    k::group_norm(values.view(), &weights, &shifts, shape, eps, to.view(), &to_mean, &rstd.view());
    std::vector<double> variances = k::numbers(rstd.view());
    for (double& v : variances) v = 1 / (v * v) - eps;
    k::put_numbers(variances, &to_spread);
    to.store();
  });
}

}  // namespace softnpu::ops
