// Special functions made of elementary ones.
#include "generated/ops/substitutes/special.h"

#include <cmath>

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/special.h"
#include "generated/ops/unary.h"
#include "ops/substitutes/common.h"
#include "ops/substitutes/exp_sinh.h"

namespace mt::substitutes {
namespace {

constexpr double kTurn = 6.283185307179586;

// exp(-|x|) times the modified Bessel function of order 0 or 1, an even and an odd function of which this is the side
// above 0: the mean over a half turn of exp(|x| (cos - 1)), times cos for order 1. The two halves of the half turn are
// taken together, so that nothing cancels for order 1 where x is small. The rule of equal steps is exact to all digits
// while |x| is small against the square of their number; beyond, the asymptotic series is.
Tensor scaled_bessel(const Tensor& self, int order) {
  constexpr int kSteps = 12, kTerms = 6;  // of a quarter turn
  constexpr double kLarge = 30;
  const Tensor x = ops::abs(wide(self)), small = ops::clamp_max(x, Scalar(kLarge));
  Tensor sum =
      order == 0 ? ops::exp(-small) * Scalar(0.5 / kSteps) : ops::zeros_like(small);  // where cos is 0
  for (int i = 0; i < kSteps; ++i) {
    const double cosine = std::cos(kTurn / 4 * i / kSteps), weight = (i == 0 ? 0.25 : 0.5) / kSteps;
    const Tensor less = ops::exp(small * Scalar(-1 - cosine)), twice = small * Scalar(2 * cosine);
    const Tensor both =
        less * (order == 0 ? ops::exp(twice) + Scalar(1) : ops::expm1(twice) * Scalar(cosine));
    sum = sum + both * Scalar(weight);
  }
  const Tensor inverse = ops::reciprocal(ops::clamp_min(x, Scalar(kLarge)) * Scalar(8));
  Tensor series = ops::zeros_like(inverse);
  double factor = 1;
  double factors[kTerms + 1] = {1};
  for (int k = 1; k <= kTerms; ++k)
    factors[k] = factor *= ((2 * k - 1) * (2 * k - 1) - 4.0 * order * order) / k;
  for (int k = kTerms; k >= 0; --k) series = series * inverse + Scalar(factors[k]);
  const Tensor far = series * ops::sqrt(inverse * Scalar(8 / kTurn));
  return ops::where(ops::gt(x, Scalar(kLarge)), far, sum);
}

// Both in their common dtype, at least single precision; the name is for refusing what is not floating.
std::pair<Tensor, Tensor> floating_pair(const Tensor& self, const Tensor& other, const char* name) {
  const DType dtype = infer::result_type(self, other);
  MT_CHECK_AS(not_implemented, is_floating(dtype), '"', name, "\" not implemented for '", info(dtype).legacy,
              "'");
  const auto as_common = [&](const Tensor& t) {
    return wide(t.dtype() == dtype ? t : ops::_to_copy(t, dtype));
  };
  return {as_common(self), as_common(other)};
}

// The part of the gamma distribution below x (`upper` false) or above it.
Tensor gamma_part(const Tensor& self, const Tensor& other, bool upper) {
  const auto [a, x] = floating_pair(self, other, upper ? "igammac" : "igamma");
  const Tensor up = ops::ge(x, a);
  const Tensor front = ops::exp(a * ops::log(x) - x - ops::lgamma(a));
  const Tensor side = front * integral(gamma_rate(a, x, up), [&](const Tensor& s) {
                        const Tensor t = ops::where(up, s, -s);
                        return ops::exp(a * t - x * ops::expm1(t));
                      });
  Tensor part = ops::where(upper ? up : ops::logical_not(up), side, Scalar(1) - side);
  // At 0 and infinity all lies on one side, whatever the other parameter says.
  part = ops::masked_fill(part, ops::eq(x, Scalar(0)), Scalar(upper ? 1 : 0));
  part = ops::masked_fill(part, ops::logical_or(ops::eq(x, Scalar(kInfinity)), ops::eq(a, Scalar(0))),
                          Scalar(upper ? 0 : 1));
  part = ops::masked_fill(part, ops::eq(a, Scalar(kInfinity)), Scalar(upper ? 1 : 0));
  const Tensor undefined = ops::logical_or(
      ops::logical_or(ops::lt(a, Scalar(0)), ops::lt(x, Scalar(0))),
      ops::logical_or(ops::logical_and(ops::eq(a, Scalar(0)), ops::eq(x, Scalar(0))),
                      ops::logical_and(ops::eq(a, Scalar(kInfinity)), ops::eq(x, Scalar(kInfinity)))));
  return ops::masked_fill(part, undefined, Scalar(std::nan("")));
}

}  // namespace

Tensor i0e(const Tensor& self) { return scaled_bessel(self, 0); }
Tensor i0(const Tensor& self) { return ops::exp(ops::abs(wide(self))) * scaled_bessel(self, 0); }
Tensor i1e(const Tensor& self) { return ops::sign(self) * scaled_bessel(self, 1); }
Tensor i1(const Tensor& self) { return ops::exp(ops::abs(wide(self))) * i1e(self); }

Tensor igamma(const Tensor& self, const Tensor& other) { return gamma_part(self, other, false); }
Tensor igammac(const Tensor& self, const Tensor& other) { return gamma_part(self, other, true); }
Tensor igamma_slope(const Tensor& self, const Tensor& other) {
  const auto [a, x] = floating_pair(self, other, "igamma_slope");
  const Tensor slope = ops::exp(ops::xlogy(a + Scalar(-1), x) - x - ops::lgamma(a));
  return ops::masked_fill(slope, ops::lt(x, Scalar(0)), Scalar(std::nan("")));
}

Tensor xlog1py(const Tensor& self, const Scalar& other) {
  return ops::special_xlog1py(self, number_beside(other, self));
}

Tensor entr(const Tensor& self) {
  return ops::where(ops::lt(self, Scalar(0)), Scalar(-kInfinity), ops::neg(ops::xlogy(self, self)));
}

Tensor ndtr(const Tensor& self) {
  return ops::mul(ops::erfc(ops::mul(wide(self), Scalar(-std::sqrt(0.5)))), Scalar(0.5));
}

}  // namespace mt::substitutes
