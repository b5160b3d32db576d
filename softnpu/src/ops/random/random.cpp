// Random fills. The values depend on the seed and the offset only, as on the card; they are not the card's
// values.
#include "kernels/random/random.h"

#include "base/limits.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/random/distributions.h"
#include "op_plans.h"
#include "ops/common/lookup.h"
#include "ops/common/random_key.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// The seed and the offset: numbers of the host, or (while a graph is recorded) tensors that are read when the operator
// runs, with an offset of the operator's own to add.
class RandomState {
 public:
  RandomState(int64_t seed, int64_t offset) : seed_(uint64_t(seed)), offset_(uint64_t(offset)) {}
  RandomState(Plan& plan, const aclTensor* seed, const aclTensor* offset, int64_t more)
      : offset_(uint64_t(more)),
        seed_tensor_(single_element(plan, plan.input(seed, "seedTensor"), "seedTensor")),
        offset_tensor_(single_element(plan, plan.input(offset, "offsetTensor"), "offsetTensor")) {
    plan.require_dtype(*seed_tensor_, "seedTensor", kSeed);
    plan.require_dtype(*offset_tensor_, "offsetTensor", kSeed);
  }

  uint64_t key(const aclOpExecutor& e) const {
    if (!seed_tensor_) return random_key(seed_, offset_);
    return random_key(read(*seed_tensor_, e), read(*offset_tensor_, e) + offset_);
  }

 private:
  static constexpr DTypeSet kSeed = k::dtype_set(DType::int64, DType::uint64, DType::int32, DType::uint32);

  static uint64_t read(const Operand& operand, const aclOpExecutor& e) {
    const ReadAs number(operand.view(e), DType::int64);
    return uint64_t(*number.view().as<int64_t>());
  }

  uint64_t seed_ = 0, offset_;
  std::optional<Operand> seed_tensor_, offset_tensor_;
};

void uniform(Plan& plan, const Operand& result, double from, double to, const RandomState& state) {
  plan.require_dtype(result, "selfRef", domains::floating);
  if (!(from <= to)) plan.invalid("from is ", from, " and to is ", to, ", wanted from <= to");
  plan.run([=](const aclOpExecutor& e) { k::philox_uniform(result.view(e), from, to, state.key(e), 0); });
}

void normal(Plan& plan, const Operand& result, const char* name, double mean, double std,
            const RandomState& state) {
  plan.require_dtype(result, name, domains::floating);
  if (!(std >= 0)) plan.invalid("std is ", std, ", wanted at least 0");
  plan.run([=](const aclOpExecutor& e) { k::philox_normal(result.view(e), mean, std, state.key(e), 0); });
}

void random(Plan& plan, const Operand& result, int64_t from, int64_t to, const RandomState& state) {
  plan.require_dtype(result, "selfRef", domains::ordered);
  if (from >= to) plan.invalid("from is ", from, " and to is ", to, ", wanted from < to");
  plan.run([=](const aclOpExecutor& e) { k::philox_random(result.view(e), from, to, state.key(e), 0); });
}

void exponential(Plan& plan, const Operand& result, double rate, const RandomState& state) {
  plan.require_dtype(result, "selfRef", domains::floating);
  if (!(rate > 0)) plan.invalid("lambda is ", rate, ", wanted more than 0");
  plan.run([=](const aclOpExecutor& e) { k::philox_exponential(result.view(e), rate, state.key(e), 0); });
}

void bernoulli(Plan& plan, const Operand& result, const char* name, const aclScalar* prob,
               const RandomState& state) {
  plan.require_dtype(result, name, domains::ordered);
  const double p = plan.scalar(prob, "prob").to<double>();
  if (!(p >= 0 && p <= 1)) plan.invalid("prob is ", p, ", wanted 0 to 1");
  plan.run([=](const aclOpExecutor& e) { k::philox_bernoulli(result.view(e), p, state.key(e), 0); });
}

// Every element has a probability of its own.
void bernoulli(Plan& plan, const Operand& result, const char* name, const Operand& probability,
               const RandomState& state) {
  plan.require_dtype(result, name, domains::ordered);
  plan.require_dtype(probability, "prob", domains::floating);
  plan.require_broadcast(probability, "prob", result);
  plan.run([=](const aclOpExecutor& e) {
    const View to = result.view(e);
    const Temporary draws(to, DType::float64);
    k::philox_uniform(draws.view(), 0, 1, state.key(e), 0);
    k::compare<k::lt_op>(draws.view(), probability.view(e), to, DType::float64);
  });
}

// Mean and deviation may differ between elements.
void normal_of_tensors(Plan& plan, const std::optional<Operand>& means, double mean,
                       const std::optional<Operand>& deviations, double std, const RandomState& state,
                       const Operand& to) {
  plan.require_dtype(to, "out", domains::floating);
  if (means) plan.require_broadcast(*means, "mean", to);
  if (deviations) plan.require_broadcast(*deviations, "std", to);
  else if (!(std >= 0)) plan.invalid("std is ", std, ", wanted at least 0");
  plan.run([=](const aclOpExecutor& e) {
    const View out = to.view(e);
    const DType compute = to.dtype == DType::float64 ? DType::float64 : DType::float32;
    const Temporary draws(out, compute);
    k::philox_normal(draws.view(), 0, deviations ? 1 : std, state.key(e), 0);
    const Scalar one(1);
    if (deviations) k::binary<k::mul_op>(draws.view(), deviations->view(e), draws.view(), compute);
    const NumberView number(Scalar(mean), compute);
    k::binary<k::add_op>(draws.view(), means ? means->view(e) : number.view, out, compute, &one);
  });
}

// Operands are taken in the order of the parameters: the state may have some, after the weights.
template <class MakeState>
void multinomial(Plan& plan, const aclTensor* self, int64_t samples, bool replacement, MakeState make_state,
                 const aclTensor* out) {
  const Operand given = plan.input(self, "self");
  const RandomState state = make_state(plan);
  const Operand drawn = plan.output(out, "out");
  if (given.ndim != 1 && given.ndim != 2)
    plan.invalid("tensor 'self' has shape ", shape_text(given), ", wanted 1 or 2 dimensions");
  const Operand weights = given.ndim == 1 ? with_dim(plan, given, 0, 1, 0) : given,
                to = drawn.ndim == 1 ? with_dim(plan, drawn, 0, 1, 0) : drawn;
  plan.require_dtype(weights, "self", domains::floating);
  plan.require_dtype(to, "out", k::dtype_set(DType::int64, DType::int32));
  plan.require_shape(to, "out", {weights.sizes[0], samples});
  if (samples < 1 || (!replacement && samples > weights.sizes[1]))
    plan.invalid("numsamples is ", samples, ", wanted 1 to ", weights.sizes[1], " without replacement");
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs dense = dense_input(weights.view(e));
    const WriteAs result(to.view(e), DType::int64);
    k::Mt19937 generator(state.key(e));
    k::multinomial(dense.view(), replacement, result.view(), generator);
    result.finish();
  });
}

Operand shaped_like(Plan& plan, const aclTensor* self, const aclTensor* out) {
  const Operand like = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_same_shape(to, "out", like, "self");
  return to;
}

}  // namespace

void InplaceUniform(Plan& plan, const aclTensor* selfRef, double from, double to, uint64_t seed,
                    uint64_t offset) {
  uniform(plan, plan.output(selfRef, "selfRef"), from, to, {int64_t(seed), int64_t(offset)});
}
void InplaceUniformTensor(Plan& plan, const aclTensor* selfRef, double from, double to,
                          const aclTensor* seedTensor, const aclTensor* offsetTensor, uint64_t offset) {
  const Operand result = plan.output(selfRef, "selfRef");
  uniform(plan, result, from, to, {plan, seedTensor, offsetTensor, int64_t(offset)});
}

void InplaceNormal(Plan& plan, const aclTensor* selfRef, float mean, float std, int64_t seed,
                   int64_t offset) {
  normal(plan, plan.output(selfRef, "selfRef"), "selfRef", mean, std, {seed, offset});
}
void InplaceNormalTensor(Plan& plan, const aclTensor* selfRef, float mean, float std,
                         const aclTensor* seedTensor, const aclTensor* offsetTensor, int64_t offset) {
  const Operand result = plan.output(selfRef, "selfRef");
  normal(plan, result, "selfRef", mean, std, {plan, seedTensor, offsetTensor, offset});
}

void NormalFloatFloat(Plan& plan, float mean, float std, int64_t seed, int64_t offset, aclTensor* out) {
  normal(plan, plan.output(out, "out"), "out", mean, std, {seed, offset});
}
void NormalTensorFloat(Plan& plan, const aclTensor* mean, float std, int64_t seed, int64_t offset,
                       aclTensor* out) {
  const Operand means = plan.input(mean, "mean");
  normal_of_tensors(plan, means, 0, std::nullopt, std, {seed, offset}, plan.output(out, "out"));
}
void NormalFloatTensor(Plan& plan, float mean, const aclTensor* std, int64_t seed, int64_t offset,
                       aclTensor* out) {
  const Operand deviations = plan.input(std, "std");
  normal_of_tensors(plan, std::nullopt, mean, deviations, 1, {seed, offset}, plan.output(out, "out"));
}
void NormalTensorTensor(Plan& plan, const aclTensor* mean, const aclTensor* std, int64_t seed, int64_t offset,
                        aclTensor* out) {
  const Operand means = plan.input(mean, "mean"), deviations = plan.input(std, "std");
  normal_of_tensors(plan, means, 0, deviations, 1, {seed, offset}, plan.output(out, "out"));
}

void InplaceRandom(Plan& plan, const aclTensor* selfRef, int64_t from, int64_t to, int64_t seed,
                   int64_t offset) {
  random(plan, plan.output(selfRef, "selfRef"), from, to, {seed, offset});
}
void InplaceRandomTensor(Plan& plan, const aclTensor* selfRef, int64_t from, int64_t to,
                         const aclTensor* seedTensor, const aclTensor* offsetTensor, int64_t offset) {
  const Operand result = plan.output(selfRef, "selfRef");
  random(plan, result, from, to, {plan, seedTensor, offsetTensor, offset});
}
void InplaceRandomWithoutFromTo(Plan& plan, const aclTensor* selfRef, int64_t seed, int64_t offset) {
  const Operand result = plan.output(selfRef, "selfRef");
  random(plan, result, 0, end_of_integers(result.dtype), {seed, offset});
}
void InplaceRandomWithoutFromToTensor(Plan& plan, const aclTensor* selfRef, const aclTensor* seedTensor,
                                      const aclTensor* offsetTensor, int64_t offset) {
  const Operand result = plan.output(selfRef, "selfRef");
  random(plan, result, 0, end_of_integers(result.dtype), {plan, seedTensor, offsetTensor, offset});
}

// `count` is the number of elements, as a check.
void SimThreadExponential(Plan& plan, aclTensor* selfRef, int64_t count, double lambda, int64_t seed,
                          int64_t offset) {
  const Operand result = plan.output(selfRef, "selfRef");
  if (count != result.numel()) plan.invalid("count is ", count, ", wanted ", result.numel());
  exponential(plan, result, lambda, {seed, offset});
}
void StatelessExponentialTensor(Plan& plan, aclTensor* self, const aclTensor* seedTensor,
                                const aclTensor* offsetTensor, int64_t offset, double lambd) {
  const Operand result = plan.output(self, "self");
  exponential(plan, result, lambd, {plan, seedTensor, offsetTensor, offset});
}

void InplaceBernoulli(Plan& plan, const aclTensor* selfRef, const aclScalar* prob, int64_t seed,
                      int64_t offset) {
  bernoulli(plan, plan.output(selfRef, "selfRef"), "selfRef", prob, {seed, offset});
}
void InplaceBernoulliTensor(Plan& plan, const aclTensor* selfRef, const aclTensor* prob, int64_t seed,
                            int64_t offset) {
  const Operand result = plan.output(selfRef, "selfRef");
  bernoulli(plan, result, "selfRef", plan.input(prob, "prob"), {seed, offset});
}
void Bernoulli(Plan& plan, const aclTensor* self, const aclScalar* prob, int64_t seed, int64_t offset,
               aclTensor* out) {
  bernoulli(plan, shaped_like(plan, self, out), "out", prob, {seed, offset});
}
void BernoulliTensor(Plan& plan, const aclTensor* self, const aclTensor* prob, int64_t seed, int64_t offset,
                     aclTensor* out) {
  const Operand like = plan.input(self, "self"), probability = plan.input(prob, "prob"),
                to = plan.output(out, "out");
  plan.require_same_shape(to, "out", like, "self");
  bernoulli(plan, to, "out", probability, {seed, offset});
}

void Multinomial(Plan& plan, const aclTensor* self, int64_t numsamples, bool replacement, int64_t seed,
                 int64_t offset, aclTensor* out) {
  multinomial(plan, self, numsamples, replacement, [&](Plan&) { return RandomState(seed, offset); }, out);
}
void MultinomialTensor(Plan& plan, const aclTensor* self, int64_t numsamples, bool replacement,
                       const aclTensor* seedTensor, const aclTensor* offsetTensor, int64_t offset,
                       aclTensor* out) {
  multinomial(
      plan, self, numsamples, replacement,
      [&](Plan& p) { return RandomState(p, seedTensor, offsetTensor, offset); }, out);
}

void Randperm(Plan& plan, int64_t n, int64_t seed, int64_t offset, aclTensor* out) {
  const Operand result = plan.output(out, "out");
  plan.require_dtype(result, "out", domains::real);
  plan.require_shape(result, "out", {n});
  plan.run([=, state = RandomState(seed, offset)](const aclOpExecutor& e) {
    k::Mt19937 generator(state.key(e));
    k::randperm(result.view(e), generator);
  });
}

}  // namespace softnpu::ops
