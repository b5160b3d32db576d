// Distributions made of uniform and normal numbers.
#include "generated/ops/substitutes/random.h"

#include <cmath>

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/cumulative.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/random.h"
#include "generated/ops/reduce.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "ops/substitutes/common.h"
#include "ops/substitutes/exp_sinh.h"

namespace mt::substitutes {
namespace {

constexpr double kHalfTurn = 3.14159265358979323846;

Tensor uniform_like(const Tensor& like, Generator* generator) {
  return ops::uniform_(new_tensor(like.sizes(), like.dtype(), like.device()), 0, 1, generator);
}

// As many numbers as fewer than 10 events on average ever need: more than 48 happen with a probability of 1e-17.
Tensor uniforms_for_few(const Tensor& like, Generator* generator) {
  Dims sizes(like.sizes());
  sizes.insert(0, 48);
  return ops::uniform_(new_tensor(sizes, like.dtype(), like.device()), 0, 1, generator);
}

// How many of the waiting times, one after the other along the first dimension, end by the limit.
Tensor count_within(const Tensor& times, const Tensor& limit) {
  const Tensor within = ops::le(ops::cumsum(times, 0), limit);
  return ops::sum(ops::_to_copy(within, limit.dtype()), {0});
}

// mean ((1 + d) log(1 + d) - d) for d = (k - mean) / mean: how unlikely k is, without the difference of large numbers.
Tensor surprise(const Tensor& k, const Tensor& mean) {
  const Tensor d = (k - mean) / mean;
  return mean * ((d + Scalar(1)) * ops::log1p(d) - d);
}

// log(k!) less its approximation by Stirling, for k >= 1.
Tensor stirling_tail(const Tensor& k) {
  const Tensor inverse = ops::reciprocal(k), square = inverse * inverse;
  return inverse * (Scalar(1.0 / 12) - square * (Scalar(1.0 / 360) - square * Scalar(1.0 / 1260)));
}

Tensor log_poisson(const Tensor& k, const Tensor& rate) {
  const Tensor some = ops::clamp_min(k, Scalar(1));
  const Tensor found =
      -surprise(some, rate) - stirling_tail(some) - ops::log(some * Scalar(2 * kHalfTurn)) * Scalar(0.5);
  return ops::where(ops::lt(k, Scalar(1)), -rate, found);
}

Tensor log_binomial(const Tensor& k, const Tensor& count, const Tensor& p) {
  const Tensor some = ops::minimum(ops::clamp_min(k, Scalar(1)), count + Scalar(-1)), rest = count - some;
  const Tensor mean = count * p;
  const Tensor roots = ops::log(some * (rest / count) * Scalar(2 * kHalfTurn)) * Scalar(0.5);
  const Tensor found = stirling_tail(count) - stirling_tail(some) - stirling_tail(rest) - roots -
                       surprise(some, mean) - surprise(rest, count - mean);
  const Tensor none = ops::where(ops::lt(k, Scalar(1)), count * ops::log1p(-p), found);
  return ops::where(ops::gt(k, count + Scalar(-1)), count * ops::log(p), none);
}

// Hörmann's transformed rejection (1993), which Poisson and binomial numbers share: k from a uniform number, kept if
// another one, scaled, lies below the probability. Every try is kept with a probability of at least 0.85; what was kept
// last counts, so that the host need not wait to learn which are left.
struct Hat {
  Tensor a, b, centre,
      scale;  // scale: the hat's height, over the probability that log_chance is the logarithm of
};
template <class LogChance>
Tensor by_rejection(const Hat& hat, const Tensor& largest, Generator* generator, LogChance&& log_chance) {
  constexpr int kTries = 18;
  Tensor found = ops::floor(hat.centre);
  for (int i = 0; i < kTries; ++i) {
    const Tensor u = uniform_like(hat.b, generator) + Scalar(-0.5), v = uniform_like(hat.b, generator);
    const Tensor distance = Scalar(0.5) - ops::abs(u);
    const Tensor k = ops::floor((hat.a * Scalar(2) / distance + hat.b) * u + hat.centre);
    const Tensor height = v * hat.scale / (hat.a / (distance * distance) + hat.b);
    const Tensor inside = ops::logical_and(ops::ge(k, Scalar(0)), ops::le(k, largest));
    const Tensor kept = ops::logical_and(inside, ops::le(ops::log(height), log_chance(k)));
    found = ops::where(kept, k, found);
  }
  return found;
}

}  // namespace

void cauchy(const Tensor& self, double median, double sigma, Generator* generator) {
  ops::uniform_(self, -kHalfTurn / 2, kHalfTurn / 2, generator);
  ops::copy_(self, ops::add(ops::mul(ops::tan(self), Scalar(sigma)), Scalar(median)));
}

void log_normal(const Tensor& self, double mean, double std, Generator* generator) {
  MT_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  ops::normal_(self, mean, std, generator);
  ops::exp_(self);
}

// How many tries until the first success: the logarithm of what a uniform number leaves, in units of one failure's.
void geometric(const Tensor& self, double p, Generator* generator) {
  MT_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  const DType dtype = is_floating(self.dtype()) ? self.dtype() : DType::float32;
  const Tensor uniform = new_tensor(self.sizes(), dtype, self.device());
  ops::uniform_(uniform, 0, 1, generator);
  const Tensor tries = ops::div(ops::log1p(ops::neg(uniform)), Scalar(std::log1p(-p)));
  ops::copy_(self, ops::clamp_min(ops::ceil(tries), Scalar(1)));
}

// Marsaglia and Tsang's cubes of shifted normal numbers, all tried as often as makes a failure of all tries (each is kept
// with a probability of at least 0.95) as unlikely as 1e-15: the host need not wait to learn which are left. What was kept
// last counts.
Tensor standard_gamma(const Tensor& self, Generator* generator) {
  constexpr int kTries = 12;
  const Tensor small = ops::lt(self, Scalar(1));
  const Tensor d = ops::where(small, self + Scalar(1), self) + Scalar(-1.0 / 3);
  const Tensor c = ops::rsqrt(d * Scalar(9));
  Tensor found = d;
  for (int i = 0; i < kTries; ++i) {
    const Tensor x = ops::normal_(ops::empty_like(d), 0, 1, generator);
    const Tensor u = ops::uniform_(ops::empty_like(d), 0, 1, generator);
    const Tensor root = c * x + Scalar(1), v = root * root * root;
    const Tensor bound = x * x * Scalar(0.5) + d * (Scalar(1) - v + ops::log(v));  // NaN where root < 0
    found = ops::where(ops::lt(ops::log1p(-u), bound), d * v, found);
  }
  const Tensor u = ops::uniform_(ops::empty_like(d), 0, 1, generator);
  const Tensor scale = ops::exp(ops::log1p(-u) / self);
  const double least = self.dtype() == DType::float64 ? 0x1p-1022 : 0x1p-126;  // never 0
  return ops::clamp_min(ops::where(small, found * scale, found), Scalar(least));
}

Tensor standard_gamma_grad(const Tensor& self, const Tensor& output) {
  const Tensor &a = self, &x = output, log_x = ops::log(x), up = ops::ge(x, a);
  const Tensor above = log_x - ops::digamma(a), below = ops::digamma(a + Scalar(1)) - log_x;
  return x * integral(gamma_rate(a, x, up), [&](const Tensor& s) {
           const Tensor high = (above + s) * ops::exp(a * s - x * ops::expm1(s));
           const Tensor low = (below + x / a * s * ops::exp(-s)) * ops::exp(-(a * s) - x * ops::expm1(-s));
           return ops::where(up, high, low);
         });
}

Tensor dirichlet_grad(const Tensor& x, const Tensor& alpha, const Tensor& total) {
  const Tensor &a = alpha, b = total - a, mean = a / total, curvature = mean * b, log_x = ops::log(x);
  const Tensor up = ops::ge(x, mean);
  const Tensor flat = ops::maximum(ops::sqrt(curvature), rate_after_plateau(curvature));
  const Tensor rate = total * ops::abs(x - mean) + ops::minimum(flat, ops::where(up, b, a));
  const Tensor whole = ops::digamma(total), left = Scalar(1) - x;
  const Tensor above = log_x - ops::digamma(a) + whole, below = ops::digamma(a + Scalar(1)) - whole - log_x;
  const Tensor odds = (b + Scalar(-1)) / a * x / left;
  const Tensor slope = x * integral(rate, [&](const Tensor& s) {
                         const Tensor e = ops::exp(-s);
                         const Tensor fallen = s + ops::log(x + left * e), rest = s - fallen;
                         const Tensor high = (above + rest) * ops::exp(a * rest - b * fallen);
                         const Tensor risen = -ops::log1p(x * ops::expm1(-s)), moved = risen - s;
                         const Tensor low = (below - odds * moved * e) * ops::exp(a * moved + b * risen);
                         return ops::where(up, high, low);
                       });
  const Tensor inside = ops::logical_and(ops::lt(x, Scalar(1)), ops::gt(b, Scalar(0)));
  return ops::where(inside, slope, Scalar(0));
}

Tensor poisson(const Tensor& self, Generator* generator) {
  const Tensor rate = wide(self);
  const Tensor waits = -ops::log1p(-uniforms_for_few(rate, generator));
  const Tensor few = count_within(waits, rate);

  const Tensor large = ops::clamp_min(rate, Scalar(10));
  const Tensor b = ops::sqrt(large) * Scalar(2.53) + Scalar(0.931), a = b * Scalar(0.02483) + Scalar(-0.059);
  const Tensor scale = ops::reciprocal(b + Scalar(-3.4)) * Scalar(1.1328) + Scalar(1.1239);
  const Tensor many =
      by_rejection({a, b, large + Scalar(0.43), scale}, number_beside(Scalar(kInfinity), rate), generator,
                   [&](const Tensor& k) { return log_poisson(k, large); });
  Tensor found = ops::where(ops::lt(rate, Scalar(10)), few, many);
  found = ops::where(ops::eq(rate, Scalar(kInfinity)), rate, found);
  return ops::_to_copy(ops::masked_fill(found, ops::lt(rate, Scalar(0)), Scalar(std::nan(""))), self.dtype());
}

Tensor binomial(const Tensor& count, const Tensor& prob, Generator* generator) {
  const Tensor p = ops::minimum(prob, Scalar(1) - prob), mean = count * p;  // the rarer of the two outcomes
  const Tensor waits = ops::ceil(ops::log1p(-uniforms_for_few(mean, generator)) / ops::log1p(-p));
  const Tensor few = count_within(waits, ops::expand(count, mean.sizes(), false));

  // Where there are few, the tries of the other way are made with numbers that fit it.
  const Tensor rare = ops::lt(mean, Scalar(10));
  const Tensor tries = ops::where(rare, Scalar(40), count), chance = ops::where(rare, Scalar(0.5), p);
  const Tensor deviation = ops::sqrt(tries * chance * (Scalar(1) - chance));
  const Tensor b = deviation * Scalar(2.53) + Scalar(1.15),
               a = b * Scalar(0.0248) + chance * Scalar(0.01) + Scalar(-0.0873);
  const Tensor mode = ops::floor((tries + Scalar(1)) * chance);
  const Tensor scale = (ops::reciprocal(b) * Scalar(5.1) + Scalar(2.83)) * deviation;
  const Tensor top = log_binomial(mode, tries, chance);
  const Tensor many = by_rejection({a, b, tries * chance + Scalar(0.5), scale}, tries, generator,
                                   [&](const Tensor& k) { return log_binomial(k, tries, chance) - top; });
  Tensor found = ops::where(rare, few, many);
  found = ops::masked_fill(found, ops::le(mean, Scalar(0)), Scalar(0));
  found = ops::where(ops::gt(prob, Scalar(0.5)), count - found, found);
  return ops::masked_fill(found, ops::ne(mean, mean), Scalar(std::nan("")));
}

}  // namespace mt::substitutes
