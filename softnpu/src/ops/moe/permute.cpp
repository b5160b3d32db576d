// Tokens sorted by their experts, and back, with gradients.
#include <cstring>

#include "kernels/common/dense.h"
#include "op_plans.h"
#include "ops/common/arguments.h"
#include "ops/moe/choice.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

constexpr DTypeSet kIndices = k::dtype_set(DType::int32, DType::int64);

void refuse_padding(const Plan& plan, bool padded) {
  if (padded) plan.invalid("paddedMode is not supported, as on the card");
}

// [tokens, choices] or, for one choice, [tokens].
int64_t choices_of(const Plan& plan, const Operand& indices, const char* name) {
  if (indices.ndim != 1 && indices.ndim != 2)
    plan.invalid("tensor '", name, "' has shape ", shape_text(indices), ", wanted 1 or 2 dimensions");
  return indices.ndim == 1 ? 1 : indices.sizes[1];
}

// Calls f(token, choice, row) for the rows that are there.
template <class F>
void for_each_row(const k::DenseInput<int32_t>& places, int64_t tokens, int64_t choices, int64_t rows,
                  const F& f) {
  for (int64_t token = 0; token < tokens; ++token)
    for (int64_t choice = 0; choice < choices; ++choice) {
      const int64_t row = places[token * choices + choice];
      if (row >= 0 && row < rows) f(token, choice, row);
    }
}

void require_sorted(const Plan& plan, const Operand& sorted, int64_t count) {
  plan.require_dtype(sorted, "sortedIndices", k::dtype_set(DType::int32));
  plan.require_shape(sorted, "sortedIndices", {count});
}

}  // namespace

void MoeTokenPermute(Plan& plan, const aclTensor* tokens, const aclTensor* indices, int64_t numOutTokens,
                     bool paddedMode, const aclTensor* permuteTokensOut, const aclTensor* sortedIndicesOut) {
  const Operand from = plan.input(tokens, "tokens"), experts = plan.input(indices, "indices"),
                to = plan.output(permuteTokensOut, "permuteTokensOut"),
                sorted = plan.output(sortedIndicesOut, "sortedIndicesOut");
  refuse_padding(plan, paddedMode);
  plan.require_ndim(from, "tokens", 2);
  plan.require_dtype(experts, "indices", kIndices);
  plan.require_same_dtype(from, "tokens", to, "permuteTokensOut");
  const int64_t choices = choices_of(plan, experts, "indices"), rows = from.sizes[0] * choices;
  if (experts.sizes[0] != from.sizes[0])
    plan.invalid("tensor 'indices' has shape ", shape_text(experts), ", wanted a row for each of ",
                 from.sizes[0], " tokens");
  // Negative numbers leave out so many, 0 none.
  const int64_t kept =
      numOutTokens <= 0 ? std::max<int64_t>(rows + numOutTokens, 0) : std::min(numOutTokens, rows);
  plan.require_shape(to, "permuteTokensOut", {kept, from.sizes[1]});
  require_sorted(plan, sorted, rows);
  plan.run([=](const aclOpExecutor& e) {
    const k::DenseInput<int64_t> expert(experts.view(e));
    const k::Dense source(from.view(e), from.dtype, k::Access::read),
        target(to.view(e), to.dtype, k::Access::write);
    const k::DenseOutput<int32_t> places(sorted.view(e));
    const size_t bytes = size_t(from.sizes[1]) * mt::itemsize(from.dtype);
    const std::vector<int64_t> order = sorted_places(expert.data(), rows);
    for (int64_t row = 0; row < rows; ++row) {
      places[order[size_t(row)]] = int32_t(row);
      if (row < kept)
        std::memcpy(target.view().as<char>() + size_t(row) * bytes,
                    source.view().as<char>() + size_t(order[size_t(row)] / choices) * bytes, bytes);
    }
    target.store();
    places.store();
  });
}

void MoeTokenPermuteGrad(Plan& plan, const aclTensor* permutedOutputGrad, const aclTensor* sortedIndices,
                         int64_t numTopk, bool paddedMode, const aclTensor* out) {
  const Operand grad = plan.input(permutedOutputGrad, "permutedOutputGrad"),
                sorted = plan.input(sortedIndices, "sortedIndices"), to = plan.output(out, "out");
  refuse_padding(plan, paddedMode);
  plan.require_ndim(grad, "permutedOutputGrad", 2);
  plan.require_dtype(grad, "permutedOutputGrad", kUpToFloat);
  if (numTopk < 1) plan.invalid("numTopk is ", numTopk, ", wanted at least 1");
  plan.require_ndim(to, "out", 2);
  plan.require_shape(to, "out", {to.sizes[0], grad.sizes[1]});
  require_sorted(plan, sorted, to.sizes[0] * numTopk);
  plan.run([=](const aclOpExecutor& e) {
    const k::DenseInput<float> from(grad.view(e));
    const k::DenseInput<int32_t> places(sorted.view(e));
    const k::DenseOutput<float> sums(to.view(e));
    const int64_t width = grad.sizes[1];
    sums.fill(0);
    for_each_row(places, to.sizes[0], numTopk, grad.sizes[0], [&](int64_t token, int64_t, int64_t row) {
      for (int64_t i = 0; i < width; ++i) sums[token * width + i] += from[row * width + i];
    });
    sums.store();
  });
}

void MoeTokenUnpermute(Plan& plan, const aclTensor* permutedTokens, const aclTensor* sortedIndices,
                       const aclTensor* probsOptional, bool paddedMode,
                       const aclIntArray* restoreShapeOptional, const aclTensor* out) {
  const Operand rows = plan.input(permutedTokens, "permutedTokens"),
                sorted = plan.input(sortedIndices, "sortedIndices");
  const std::optional<Operand> probs = unless_empty(plan.optional_input(probsOptional, "probs"));
  const Operand to = plan.output(out, "out");
  refuse_padding(plan, paddedMode);
  plan.require_ndim(rows, "permutedTokens", 2);
  plan.require_dtype(rows, "permutedTokens", kUpToFloat);
  plan.require_ndim(to, "out", 2);
  const int64_t choices = probs ? choices_of(plan, *probs, "probs") : 1;
  plan.require_shape(to, "out", {to.sizes[0], rows.sizes[1]});
  if (probs && probs->sizes[0] != to.sizes[0])
    plan.invalid("tensor 'probs' has shape ", shape_text(*probs), ", wanted a row for each of ", to.sizes[0],
                 " tokens");
  require_sorted(plan, sorted, to.sizes[0] * choices);
  plan.run([=](const aclOpExecutor& e) {
    const k::DenseInput<float> from(rows.view(e));
    const k::DenseInput<int32_t> places(sorted.view(e));
    const OptionalDense weights(probs, e, k::Access::read, DType::float32);
    const k::DenseOutput<float> sums(to.view(e));
    const int64_t width = rows.sizes[1];
    sums.fill(0);
    for_each_row(
        places, to.sizes[0], choices, rows.sizes[0], [&](int64_t token, int64_t choice, int64_t row) {
          const float weight = weights.get() ? weights.get()->as<float>()[token * choices + choice] : 1;
          for (int64_t i = 0; i < width; ++i) sums[token * width + i] += weight * from[row * width + i];
        });
    sums.store();
  });
}

void MoeTokenUnpermuteGrad(Plan& plan, const aclTensor* permutedTokens, const aclTensor* unpermutedTokensGrad,
                           const aclTensor* sortedIndices, const aclTensor* probsOptional, bool paddedMode,
                           const aclIntArray* restoreShapeOptional, const aclTensor* permutedTokensGradOut,
                           const aclTensor* probsGradOut) {
  const Operand rows = plan.input(permutedTokens, "permutedTokens"),
                grad = plan.input(unpermutedTokensGrad, "unpermutedTokensGrad"),
                sorted = plan.input(sortedIndices, "sortedIndices");
  const std::optional<Operand> probs = unless_empty(plan.optional_input(probsOptional, "probs"));
  const Operand to_rows = plan.output(permutedTokensGradOut, "permutedTokensGradOut");
  const std::optional<Operand> to_probs =
      masked_output(plan, probsGradOut, "probsGradOut", probs.has_value());
  refuse_padding(plan, paddedMode);
  plan.require_ndim(rows, "permutedTokens", 2);
  plan.require_dtype(rows, "permutedTokens", kUpToFloat);
  plan.require_same_shape(rows, "permutedTokens", to_rows, "permutedTokensGradOut");
  plan.require_ndim(grad, "unpermutedTokensGrad", 2);
  plan.require_shape(grad, "unpermutedTokensGrad", {grad.sizes[0], rows.sizes[1]});
  const int64_t choices = probs ? choices_of(plan, *probs, "probs") : 1;
  if (probs && probs->sizes[0] != grad.sizes[0])
    plan.invalid("tensor 'probs' has shape ", shape_text(*probs), ", wanted a row for each of ",
                 grad.sizes[0], " tokens");
  if (to_probs) plan.require_same_shape(*to_probs, "probsGradOut", *probs, "probs");
  require_sorted(plan, sorted, grad.sizes[0] * choices);
  plan.run([=](const aclOpExecutor& e) {
    const k::DenseInput<float> from(rows.view(e)), of(grad.view(e));
    const k::DenseInput<int32_t> places(sorted.view(e));
    const OptionalDense weights(probs, e, k::Access::read, DType::float32),
        to_weights(to_probs, e, k::Access::write, DType::float32);
    const k::DenseOutput<float> to(to_rows.view(e));
    const int64_t width = rows.sizes[1];
    to.fill(0);
    if (to_weights.get()) std::fill_n(to_weights.get()->as<float>(), grad.sizes[0] * choices, 0.0f);
    for_each_row(places, grad.sizes[0], choices, rows.sizes[0],
                 [&](int64_t token, int64_t choice, int64_t row) {
                   const int64_t at = token * choices + choice;
                   const float weight = weights.get() ? weights.get()->as<float>()[at] : 1;
                   float product = 0;
                   for (int64_t i = 0; i < width; ++i) {
                     to[row * width + i] = weight * of[token * width + i];
                     product += from[row * width + i] * of[token * width + i];
                   }
                   if (to_weights.get()) to_weights.get()->as<float>()[at] = product;
                 });
    to.store();
    to_weights.store();
  });
}

}  // namespace softnpu::ops
