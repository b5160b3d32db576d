// Random fills. The values depend on the seed and the offset only, as on the card; they are not the card's
// values.
#include "kernels/random.h"

#include "op_plans.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// Programs raise the offset by an amount of their own from call to call. Mixing it into the key instead of
// the counter makes the numbers of two calls independent however little they raise it. (The mixer is
// splitmix64's.)
uint64_t key(uint64_t seed, uint64_t offset) {
  uint64_t z = seed + (offset + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

void InplaceUniform(Plan& plan, const aclTensor* selfRef, double from, double to, uint64_t seed,
                    uint64_t offset) {
  const Operand result = plan.output(selfRef, "selfRef");
  plan.require_dtype(result, "selfRef", domains::floating);
  if (!(from <= to)) plan.invalid("from is ", from, " and to is ", to, ", wanted from <= to");
  plan.run(
      [=](const aclOpExecutor& e) { k::philox_uniform(result.view(e), from, to, key(seed, offset), 0); });
}

void InplaceNormal(Plan& plan, const aclTensor* selfRef, float mean, float std, int64_t seed,
                   int64_t offset) {
  const Operand result = plan.output(selfRef, "selfRef");
  plan.require_dtype(result, "selfRef", domains::floating);
  if (!(std >= 0)) plan.invalid("std is ", std, ", wanted at least 0");
  plan.run([=](const aclOpExecutor& e) {
    k::philox_normal(result.view(e), mean, std, key(uint64_t(seed), uint64_t(offset)), 0);
  });
}

void InplaceBernoulli(Plan& plan, const aclTensor* selfRef, const aclScalar* prob, int64_t seed,
                      int64_t offset) {
  const Operand result = plan.output(selfRef, "selfRef");
  plan.require_dtype(result, "selfRef", domains::ordered);
  const double p = plan.scalar(prob, "prob").to<double>();
  if (!(p >= 0 && p <= 1)) plan.invalid("prob is ", p, ", wanted 0 to 1");
  plan.run([=](const aclOpExecutor& e) {
    k::philox_bernoulli(result.view(e), p, key(uint64_t(seed), uint64_t(offset)), 0);
  });
}

void InplaceRandom(Plan& plan, const aclTensor* selfRef, int64_t from, int64_t to, int64_t seed,
                   int64_t offset) {
  const Operand result = plan.output(selfRef, "selfRef");
  plan.require_dtype(result, "selfRef", domains::ordered);
  if (from >= to) plan.invalid("from is ", from, " and to is ", to, ", wanted from < to");
  plan.run([=](const aclOpExecutor& e) {
    k::philox_random(result.view(e), from, to, key(uint64_t(seed), uint64_t(offset)), 0);
  });
}

void Randperm(Plan& plan, int64_t n, int64_t seed, int64_t offset, aclTensor* out) {
  const Operand result = plan.output(out, "out");
  plan.require_dtype(result, "out", domains::real);
  plan.require_shape(result, "out", {n});
  plan.run([=](const aclOpExecutor& e) {
    k::Mt19937 generator(key(uint64_t(seed), uint64_t(offset)));
    k::randperm(result.view(e), generator);
  });
}

}  // namespace softnpu::ops
