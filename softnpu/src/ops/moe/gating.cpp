// Which experts a token goes to, and with what weight.
#include <cmath>

#include "kernels/common/dense.h"
#include "op_plans.h"
#include "ops/common/arguments.h"
#include "ops/moe/choice.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

std::vector<float> softmax(const float* row, int64_t count) {
  const float top = *std::max_element(row, row + count);
  std::vector<float> result(static_cast<size_t>(count));
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += result[size_t(i)] = std::exp(row[i] - top);
  for (float& value : result) value /= sum;
  return result;
}

// x [..., experts] and results [..., k].
struct Gating {
  Operand x, y, experts;
  int64_t count, k;

  Gating(const Plan& plan, const Operand& x_, const Operand& y_, const Operand& experts_, int64_t k_)
      : x(x_), y(y_), experts(experts_), k(k_) {
    plan.require_dtype(x, "x", kUpToFloat);
    plan.require_dtype(y, "yOut", kUpToFloat);
    plan.require_dtype(experts, "expertIdxOut", kInt32);
    if (x.ndim < 2) plan.invalid("tensor 'x' has shape ", shape_text(x), ", wanted 2 or 3 dimensions");
    count = x.sizes[x.ndim - 1];
    if (k < 1 || k > count) plan.invalid("k is ", k, ", wanted 1 to ", count);
    require_chosen(plan, y, "yOut");
    require_chosen(plan, experts, "expertIdxOut");
  }
  void require_chosen(const Plan& plan, const Operand& operand, const char* name) const {
    std::vector<int64_t> wanted = sizes_of(x);
    wanted.back() = k;
    plan.require_shape(operand, name, wanted);
  }
  int64_t rows() const { return count == 0 ? 0 : x.numel() / count; }
};

void gate_by_softmax(Plan& plan, const aclTensor* x, const aclTensor* finishedOptional, int64_t k,
                     int64_t renorm, const aclTensor* yOut, const aclTensor* expertIdxOut,
                     const aclTensor* rowIdxOut, const aclTensor* softmaxOut, bool wants_softmax) {
  const Operand from = plan.input(x, "x");
  const std::optional<Operand> finished = unless_empty(plan.optional_input(finishedOptional, "finished"));
  const Operand weights = plan.output(yOut, "yOut"), experts = plan.output(expertIdxOut, "expertIdxOut");
  const Gating gating(plan, from, weights, experts, k);
  std::optional<Operand> row_index, all;
  if (rowIdxOut != nullptr) row_index = plan.output(rowIdxOut, "rowIdxOut");
  else all = masked_output(plan, softmaxOut, "softmaxResultOut", wants_softmax);
  if (row_index) {
    plan.require_dtype(*row_index, "rowIdxOut", kInt32);
    gating.require_chosen(plan, *row_index, "rowIdxOut");
  }
  if (all) plan.require_same_shape(*all, "softmaxResultOut", from, "x");
  if (finished) {
    plan.require_dtype(*finished, "finished", k::dtype_set(DType::boolean));
    std::vector<int64_t> wanted = sizes_of(from);
    wanted.pop_back();
    plan.require_shape(*finished, "finished", wanted);
  }
  if (renorm != 0 && renorm != 1) plan.invalid("renorm is ", renorm, ", wanted 0 or 1");
  plan.run([=](const aclOpExecutor& e) {
    const k::DenseInput<float> scores(gating.x.view(e));
    const k::DenseOutput<float> to(gating.y.view(e));
    const k::DenseOutput<int32_t> chosen(gating.experts.view(e));
    const OptionalDense done(finished, e, k::Access::read, DType::boolean),
        places(row_index, e, k::Access::write, DType::int32), whole(all, e, k::Access::write, DType::float32);
    const int64_t rows = gating.rows(), count = gating.count;
    for (int64_t row = 0; row < rows; ++row) {
      const float* own = scores.data() + row * count;
      // Softmax of all, of which the largest; or of the largest alone.
      const std::vector<float> share = softmax(own, count);
      const std::vector<int64_t> best = largest(renorm ? own : share.data(), count, k);
      if (whole.get()) std::copy_n(share.data(), count, whole.get()->as<float>() + row * count);
      std::vector<float> weight;
      for (const int64_t expert : best) weight.push_back(renorm ? own[expert] : share[size_t(expert)]);
      if (renorm) weight = softmax(weight.data(), k);
      for (int64_t i = 0; i < k; ++i) {
        to[row * k + i] = weight[size_t(i)];
        chosen[row * k + i] =
            done.get() && done.get()->as<bool>()[row] ? int32_t(count) : int32_t(best[size_t(i)]);
        if (places.get()) places.get()->as<int32_t>()[row * k + i] = int32_t(i * rows + row);
      }
    }
    to.store();
    chosen.store();
    places.store();
    whole.store();
  });
}

struct GroupChoice {
  int64_t wanted, count, mode;
};

// Leaves out the experts of groups that are not among the best: by their best expert, or the sum of their best two.
void keep_best_groups(std::vector<float>& scores, const GroupChoice& groups) {
  const int64_t size = int64_t(scores.size()) / groups.count;
  std::vector<float> rank;
  for (int64_t g = 0; g < groups.count; ++g) {
    const float* own = scores.data() + g * size;
    float value = 0;
    for (const int64_t i : largest(own, size, groups.mode == 0 ? 1 : 2)) value += own[i];
    rank.push_back(value);
  }
  std::vector<bool> kept(size_t(groups.count), false);
  for (const int64_t g : largest(rank.data(), groups.count, groups.wanted)) kept[size_t(g)] = true;
  for (size_t i = 0; i < scores.size(); ++i)
    if (!kept[i / size_t(size)]) scores[i] = -HUGE_VALF;
}

void gate_by_groups(Plan& plan, const aclTensor* x, const aclTensor* biasOptional, int64_t k,
                    const GroupChoice& groups, int64_t renorm, int64_t normType, bool outFlag,
                    double routedScalingFactor, double eps, const aclTensor* yOut,
                    const aclTensor* expertIdxOut, const aclTensor* outOut,
                    std::initializer_list<const aclTensor*> refused = {}) {
  const Operand from = plan.input(x, "x");
  const std::optional<Operand> bias = unless_empty(plan.optional_input(biasOptional, "bias"));
  for (const aclTensor* tensor : refused)
    if (unless_empty(plan.optional_input(tensor, "inputIds")))
      plan.invalid("'inputIds' and 'tid2eid' are not supported by the software NPU");
  const Operand weights = plan.output(yOut, "yOut"), experts = plan.output(expertIdxOut, "expertIdxOut");
  const std::optional<Operand> all = masked_output(plan, outOut, "outOut", outFlag);
  plan.require_ndim(from, "x", 2);
  const Gating gating(plan, from, weights, experts, k);
  if (bias) plan.require_shape(*bias, "bias", {gating.count});
  if (all) plan.require_same_shape(*all, "outOut", from, "x");
  if (groups.count < 1 || gating.count % groups.count != 0)
    plan.invalid("groupCount is ", groups.count, ", which does not divide ", gating.count, " experts");
  if (groups.wanted < 1 || groups.wanted > groups.count)
    plan.invalid("kGroup is ", groups.wanted, ", wanted 1 to ", groups.count);
  if (groups.mode < 0 || groups.mode > 1) plan.invalid("groupSelectMode is ", groups.mode, ", wanted 0 or 1");
  const int64_t size = gating.count / groups.count;
  if (groups.count > 1 && groups.mode == 1 && size < 2)
    plan.invalid("groupSelectMode 1 adds the best two of a group, but a group has ", size);
  if (k > groups.wanted * size) plan.invalid("k is ", k, ", wanted at most ", groups.wanted * size);
  if (normType < 0 || normType > 1)
    plan.invalid("normType is ", normType, ", wanted 0 (softmax) or 1 (sigmoid)");
  if (renorm < 0 || renorm > 1) plan.invalid("renorm is ", renorm, ", wanted 0 or 1");
  plan.run([=](const aclOpExecutor& e) {
    const k::DenseInput<float> scores(gating.x.view(e));
    const k::DenseOutput<float> to(gating.y.view(e));
    const k::DenseOutput<int32_t> chosen(gating.experts.view(e));
    const OptionalDense added(bias, e, k::Access::read, DType::float32),
        whole(all, e, k::Access::write, DType::float32);
    const int64_t count = gating.count;
    for (int64_t row = 0; row < gating.rows(); ++row) {
      const float* own = scores.data() + row * count;
      std::vector<float> share(own, own + count);
      if (normType == 0) share = softmax(own, count);
      else
        for (float& value : share) value = 1 / (1 + std::exp(-value));
      if (whole.get()) std::copy_n(share.data(), count, whole.get()->as<float>() + row * count);
      std::vector<float> rank = share;
      if (added.get())
        for (int64_t i = 0; i < count; ++i) rank[size_t(i)] += added.get()->as<float>()[i];
      if (groups.count > 1) keep_best_groups(rank, groups);
      const std::vector<int64_t> best = largest(rank.data(), count, k);
      float sum = 0;
      for (const int64_t expert : best) sum += share[size_t(expert)];
      const float divisor = normType == 1 || renorm == 1 ? sum + float(eps) : 1;
      for (int64_t i = 0; i < k; ++i) {
        const int64_t expert = best[size_t(i)];
        to[row * k + i] = share[size_t(expert)] / divisor * float(routedScalingFactor);
        chosen[row * k + i] = int32_t(expert);
      }
    }
    to.store();
    chosen.store();
    whole.store();
  });
}

}  // namespace

void MoeGatingTopKSoftmax(Plan& plan, const aclTensor* x, const aclTensor* finishedOptional, int64_t k,
                          const aclTensor* yOut, const aclTensor* expertIdxOut, const aclTensor* rowIdxOut) {
  if (rowIdxOut == nullptr) plan.null_argument("rowIdxOut");
  gate_by_softmax(plan, x, finishedOptional, k, 0, yOut, expertIdxOut, rowIdxOut, nullptr, false);
}
void MoeGatingTopKSoftmaxV2(Plan& plan, const aclTensor* x, const aclTensor* finishedOptional, int64_t k,
                            int64_t renorm, bool outputSoftmaxResultFlag, const aclTensor* yOut,
                            const aclTensor* expertIdxOut, const aclTensor* softmaxResultOutOptional) {
  gate_by_softmax(plan, x, finishedOptional, k, renorm, yOut, expertIdxOut, nullptr, softmaxResultOutOptional,
                  outputSoftmaxResultFlag);
}
void MoeGatingTopK(Plan& plan, const aclTensor* x, const aclTensor* biasOptional, int64_t k, int64_t kGroup,
                   int64_t groupCount, int64_t groupSelectMode, int64_t renorm, int64_t normType,
                   bool outFlag, double routedScalingFactor, double eps, const aclTensor* yOut,
                   const aclTensor* expertIdxOut, const aclTensor* outOut) {
  gate_by_groups(plan, x, biasOptional, k, {kGroup, groupCount, groupSelectMode}, renorm, normType, outFlag,
                 routedScalingFactor, eps, yOut, expertIdxOut, outOut);
}
void MoeGatingTopKV2(Plan& plan, const aclTensor* x, const aclTensor* biasOptional,
                     const aclTensor* inputIdsOptional, const aclTensor* tid2eidOptional, int64_t k,
                     int64_t kGroup, int64_t groupCount, int64_t groupSelectMode, int64_t renorm,
                     int64_t normType, bool outFlag, double routedScalingFactor, double eps,
                     const aclTensor* yOut, const aclTensor* expertIdxOut, const aclTensor* outOut) {
  gate_by_groups(plan, x, biasOptional, k, {kGroup, groupCount, groupSelectMode}, renorm, normType, outFlag,
                 routedScalingFactor, eps, yOut, expertIdxOut, outOut, {inputIdsOptional, tid2eidOptional});
}

}  // namespace softnpu::ops
