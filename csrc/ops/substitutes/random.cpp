// Distributions made of uniform and normal numbers.
#include "generated/ops/substitutes/random.h"

#include <cmath>

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/random.h"
#include "generated/ops/unary.h"
#include "ops/substitutes/common.h"
#include "ops/substitutes/exp_sinh.h"

namespace mt::substitutes {
namespace {

constexpr double kHalfTurn = 3.14159265358979323846;

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

}  // namespace mt::substitutes
