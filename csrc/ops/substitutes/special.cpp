// Special functions made of elementary ones: the fits that the kernels of the cpu use, evaluated for all elements at
// once. Where a function has several, each gets elements moved to the end of its range, and `where` picks.
#include "generated/ops/substitutes/special.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "base/special_fits.h"
#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/shape.h"
#include "generated/ops/special.h"
#include "generated/ops/unary.h"
#include "ops/substitutes/common.h"
#include "ops/substitutes/exp_sinh.h"

namespace mt::substitutes {
namespace {

using std::numbers::egamma;
using std::numbers::pi;
const double kNan = std::nan("");
const double kRootHalf = std::sqrt(0.5);

// Integers as the default float. The name is for refusing half types, which PyTorch does not have here either.
Tensor as_single_or_double(const Tensor& self, DType dtype, const char* name) {
  MT_CHECK_AS(not_implemented, dtype == DType::float32 || dtype == DType::float64, '"', name,
              "\" not implemented for '", info(dtype).legacy, "'");
  return self.dtype() == dtype ? self : ops::_to_copy(self, dtype);
}
Tensor single_or_double(const Tensor& self, const char* name) {
  return as_single_or_double(self, infer::float_if_integral(self.dtype()), name);
}
std::pair<Tensor, Tensor> single_or_double(const Tensor& self, const Tensor& other, const char* name) {
  const DType dtype = infer::float_if_integral(infer::result_type(self, other));
  return {as_single_or_double(self, dtype, name), as_single_or_double(other, dtype, name)};
}
// At least single precision.
Tensor floating(const Tensor& self) {
  return is_integral(self.dtype(), true) ? ops::_to_copy(self, default_dtype()) : wide(self);
}

double last_place(DType dtype) { return dtype == DType::float64 ? 0x1p-53 : 0x1p-24; }

// The sum of c[k] T_k(t), by Clenshaw's recurrence, without the terms that the dtype does not show.
Tensor fitted(std::span<const double> c, const Tensor& t) {
  const double least = last_place(t.dtype()) / 16 *
                       std::abs(*std::ranges::max_element(c, {}, [](double x) { return std::abs(x); }));
  while (c.size() > 2 && std::abs(c.back()) < least) c = c.first(c.size() - 1);
  const Tensor twice = t + t;
  Tensor before = ops::zeros_like(t), now = ops::full_like(t, Scalar(c.back()));
  for (size_t k = c.size() - 2; k > 0; --k) {
    Tensor next = twice * now - before + Scalar(c[k]);
    before = std::exchange(now, std::move(next));
  }
  return t * now - before + Scalar(c[0]);
}
Tensor polynomial(std::span<const double> c, const Tensor& x) {
  Tensor sum = ops::full_like(x, Scalar(c.back()));
  for (size_t k = c.size() - 1; k-- > 0;) sum = sum * x + Scalar(c[k]);
  return sum;
}

// ---- Bessel functions ----

// exp(-|x|) times the modified Bessel function of the first kind, of order 0 or 1.
Tensor scaled_i(const Tensor& self, int order) {
  namespace c = coefficients;
  const Tensor given = floating(self), x = ops::abs(given);
  const Tensor low = ops::clamp_max(x, Scalar(8)), high = ops::clamp_min(x, Scalar(8));
  const std::span<const double> near = order ? std::span(c::bessel_i1_low) : std::span(c::bessel_i0_low),
                                far = order ? std::span(c::bessel_i1_high) : std::span(c::bessel_i0_high);
  Tensor small = fitted(near, low * Scalar(0.25) + Scalar(-1));
  if (order) small = small * low;
  const Tensor large = fitted(far, ops::reciprocal(high) * Scalar(16) + Scalar(-1)) * ops::rsqrt(high);
  const Tensor value = ops::where(ops::gt(x, Scalar(8)), large, small);
  return order ? value * ops::sign(given) : value;
}
// exp(|x|) times `scaled`, in two steps, so that nothing overflows before its time.
Tensor grown(const Tensor& self, const Tensor& scaled) {
  const Tensor half = ops::exp(ops::abs(floating(self)) * Scalar(0.5));
  return half * scaled * half;
}

// J (`second` false) and Y above 8: an amplitude and a phase; see tools/fit_special_functions.py. The phase is a turned
// x, whose sine and cosine come from those of x itself: a difference would lose digits.
Tensor wave(const Tensor& x, int order, bool second) {
  namespace c = coefficients;
  const Tensor u = ops::reciprocal(x) * Scalar(8), t = u * u * Scalar(2) + Scalar(-1);
  const Tensor p = order ? fitted(c::bessel_1_cosine, t) : fitted(c::bessel_0_cosine, t);
  const Tensor q = u * (order ? fitted(c::bessel_1_sine, t) : fitted(c::bessel_0_sine, t));
  const Tensor sine = ops::sin(x), cosine = ops::cos(x), plus = sine + cosine, minus = sine - cosine;
  const Tensor turned_cosine = order ? minus : plus, turned_sine = order ? -plus : minus;
  const Tensor sum = second ? p * turned_sine + q * turned_cosine : p * turned_cosine - q * turned_sine;
  return sum * ops::rsqrt(x) * Scalar(std::sqrt(1 / pi));
}

Tensor bessel_j(const Tensor& given, int order) {
  namespace c = coefficients;
  const Tensor x = ops::abs(given), low = ops::clamp_max(x, Scalar(8));
  const Tensor t = low * low * Scalar(1.0 / 32) + Scalar(-1);
  const Tensor small = order ? low * fitted(c::bessel_j1_low, t) : fitted(c::bessel_j0_low, t);
  const Tensor value =
      ops::where(ops::gt(x, Scalar(8)), wave(ops::clamp_min(x, Scalar(8)), order, false), small);
  return order ? value * ops::sign(given) : value;
}

Tensor bessel_y(const Tensor& x, int order) {
  namespace c = coefficients;
  const Tensor low = ops::clamp_max(x, Scalar(8)), t = low * low * Scalar(1.0 / 32) + Scalar(-1);
  const Tensor product = ops::log(low) * bessel_j(low, order);
  const Tensor small =
      order ? low * fitted(c::bessel_y1_low, t) + (product - ops::reciprocal(low)) * Scalar(2 / pi)
            : fitted(c::bessel_y0_low, t) + product * Scalar(2 / pi);
  const Tensor value =
      ops::where(ops::gt(x, Scalar(8)), wave(ops::clamp_min(x, Scalar(8)), order, true), small);
  return ops::masked_fill(value, ops::eq(x, Scalar(0)), Scalar(-kInfinity));
}

// K up to 2: two power series in (x/2)^2, one of them times a logarithm.
Tensor k_series(const Tensor& x, int order) {
  constexpr int kTerms = 13;
  std::vector<double> plain(kTerms), with_harmonic(kTerms);
  double term = 1, harmonic = 0;  // 1 / (k! (k + order)!), 1 + 1/2 + … + 1/k
  for (int k = 0; k < kTerms; ++k) {
    if (k) term /= double(k) * (k + order), harmonic += 1.0 / k;
    plain[size_t(k)] = term;
    with_harmonic[size_t(k)] = term * (order ? harmonic + 0.5 / (k + 1) - egamma : harmonic - egamma);
  }
  const Tensor half = x * Scalar(0.5), q = half * half, logarithm = ops::log(half);
  const Tensor rest = polynomial(with_harmonic, q), first = polynomial(plain, q);
  return order ? ops::reciprocal(x) + half * (logarithm * first - rest) : rest - logarithm * first;
}

Tensor bessel_k(const Tensor& x, int order, bool scaled) {
  namespace c = coefficients;
  const Tensor low = ops::clamp_max(x, Scalar(2)), high = ops::clamp_min(x, Scalar(2));
  const Tensor t = ops::reciprocal(high) * Scalar(4) + Scalar(-1);
  Tensor small = k_series(low, order);
  Tensor large = (order ? fitted(c::bessel_k1_high, t) : fitted(c::bessel_k0_high, t)) * ops::rsqrt(high);
  if (scaled) small = small * ops::exp(low);
  else large = large * ops::exp(-high);
  const Tensor value = ops::where(ops::gt(x, Scalar(2)), large, small);
  return ops::masked_fill(value, ops::eq(x, Scalar(0)), Scalar(kInfinity));
}

// ---- the error function ----

// exp(x * x), which would magnify the rounding of the square: of a coarse part the square has no error.
Tensor exp_square(const Tensor& x) {
  const Tensor a = ops::clamp_max(ops::abs(x), Scalar(30));
  const Tensor coarse = ops::floor(a * Scalar(16)) * Scalar(1.0 / 16);
  return ops::exp(coarse * coarse) * ops::exp((a - coarse) * (a + coarse));
}

Tensor scaled_erfc(const Tensor& x) {
  const Tensor a = ops::abs(x), near = ops::clamp_max(a, Scalar(1e8));
  const Tensor fit = fitted(coefficients::scaled_erfc, (near + Scalar(-4)) / (near + Scalar(4)));
  const Tensor far = ops::reciprocal(a) * Scalar(1 / std::sqrt(pi));
  const Tensor positive = ops::where(ops::gt(a, Scalar(1e8)), far, fit / (near * Scalar(2) + Scalar(1)));
  return ops::where(ops::lt(x, Scalar(0)), exp_square(x) * Scalar(2) - positive, positive);
}

// ---- the zeta function ----

// The sum of (q + k)^-x over k >= 0, x > 1 and q > 0: some terms, then Euler and Maclaurin's formula for the rest. It
// converges where the rest is not small beside the terms.
Tensor zeta_positive(const Tensor& x, const Tensor& q) {
  constexpr int kTerms = 12;
  constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                   -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};
  const Tensor down = -x;
  Tensor sum = ops::pow(q, down);
  for (int k = 1; k < kTerms; ++k) sum = sum + ops::pow(q + Scalar(k), down);
  const Tensor a = q + Scalar(kTerms), power = ops::pow(a, down), inverse = ops::reciprocal(a);
  Tensor rest = power * a / (x + Scalar(-1)) + power * Scalar(0.5), factor = x * power * inverse;
  double factorial = 1;
  for (int j = 1; j <= 10; ++j) {
    factorial *= (2 * j - 1) * (2 * j);
    rest = rest + factor * Scalar(kBernoulli[j - 1] / factorial);
    factor = factor * ((x + Scalar(2 * j - 1)) * inverse) * ((x + Scalar(2 * j)) * inverse);
  }
  const Tensor seen = ops::gt(power, sum * Scalar(last_place(sum.dtype()) / 16));
  return sum + ops::where(seen, rest, Scalar(0));
}

// Terms with a negative base are taken from the other end: their distances from zero are f, f + 1, … -q.
Tensor zeta_of(const Tensor& x, const Tensor& narrow_q) {
  const Tensor q =
      ops::expand(narrow_q, infer::broadcast(x.sizes(), narrow_q.sizes()));  // before a dimension more
  const Tensor up = -q, f = up - ops::floor(up), below = ops::le(q, Scalar(0));
  const Tensor first = ops::where(below, Scalar(1) - f, q),
               last = ops::where(below, Scalar(1) - q, Scalar(1));
  const Tensor all = zeta_positive(x, ops::stack(std::array{first, ops::where(below, f, Scalar(1)), last}));
  const Tensor negative = ops::select(all, 0, 1) - ops::select(all, 0, 2);
  const Tensor odd = ops::ne(ops::remainder(x, Scalar(2)), Scalar(0));
  const Tensor extra = ops::where(below, ops::where(odd, -negative, negative), Scalar(0));
  const Tensor broken = ops::logical_and(below, ops::ne(x, ops::floor(x)));
  const Tensor endless = ops::logical_and(ops::eq(x, Scalar(kInfinity)), ops::gt(q, Scalar(1)));
  const Tensor pole = ops::logical_and(below, ops::eq(q, ops::floor(q)));
  Tensor value = ops::select(all, 0, 0) + extra;
  const auto becomes = [&](double number, std::initializer_list<Tensor> places) {  // later ones win
    for (const Tensor& where : places) value = ops::masked_fill(value, where, Scalar(number));
  };
  becomes(kNan, {broken, endless, ops::isnan(x), ops::eq(q, Scalar(kInfinity))});
  becomes(kInfinity, {pole});
  becomes(kNan, {ops::isnan(q), ops::lt(x, Scalar(1))});
  becomes(kInfinity, {ops::eq(x, Scalar(1))});
  return value;
}

// ---- orthogonal polynomials ----

// Degrees as the kernels of the cpu have them: whole parts, and -1 for what is no degree.
struct Degrees {
  Tensor each;
  std::optional<int64_t> same;  // of all elements, where the host knows it
};
Degrees degrees(const Tensor& n, const Tensor&) {
  const Tensor known = ops::logical_and(ops::gt(n, Scalar(-1)), ops::lt(n, Scalar(0x1p63)));
  return {ops::where(known, ops::trunc(n), Scalar(-1)), std::nullopt};
}
Degrees degrees(const Scalar& n, const Tensor& x) {
  const double given = n.to<double>();
  const int64_t whole = given > -1 && given < 0x1p63 ? int64_t(given) : -1;
  return {ops::full({}, Scalar(whole), TensorOptions{x.dtype(), x.device()}), whole};
}

// The number of steps to enqueue, for which the host waits if the degrees are on the device. On meta some are enough, as
// each takes what the one before gave back.
int64_t steps_for(const Degrees& n, const Tensor& needed) {
  constexpr int64_t kOnMeta = 4;
  if (needed.device().is_meta()) return n.same ? std::min(*n.same, kOnMeta) : kOnMeta;
  if (n.same) return *n.same;
  return needed.numel() == 0 ? 0 : item(ops::amax(needed)).to<int64_t>();
}

// p(k+1) = next(k, p(k), p(k-1)), from p(0) = 1 and p(1) = first.
template <class Next>
Tensor recurrence(const Tensor& first, const Degrees& n, int64_t steps, Next next) {
  constexpr int64_t kLook = 1024;  // now and then: what has outgrown the dtype needs no more steps
  Tensor before = ops::ones_like(first), now = first;
  Tensor value = ops::where(ops::eq(n.each, Scalar(0)), Scalar(1), first);
  for (int64_t k = 1; k < steps; ++k) {
    Tensor after = next(double(k), now, before);
    before = std::exchange(now, std::move(after));
    value = n.same ? now : ops::where(ops::gt(n.each, Scalar(k)), now, value);
    if (k % kLook == 0 &&
        item(ops::all(ops::logical_or(ops::isnan(now), ops::le(n.each, Scalar(k))))).to<bool>())
      break;
  }
  return ops::masked_fill(value, ops::lt(n.each, Scalar(0)), Scalar(0));
}

// Degrees above 8 have shorter ways inside [-1, 1]: `angle` of the angle whose cosine is x, and at the ends `right`, or
// `left` times an alternating sign.
template <class Angle>
Tensor chebyshev(const Tensor& x, const Degrees& n, const Tensor& first, const Tensor& right,
                 const Tensor& left, Angle angle) {
  const Tensor size = ops::abs(x);
  const Tensor closed = ops::logical_and(ops::le(size, Scalar(1)), ops::gt(n.each, Scalar(8)));
  const Tensor twice = x + x;
  const Tensor value = recurrence(first, n, steps_for(n, ops::where(closed, Scalar(8), n.each)),
                                  [&](double, const Tensor& p, const Tensor& q) { return twice * p - q; });
  if (n.same && *n.same <= 8) return value;
  const Tensor sign = Scalar(1) - ops::remainder(n.each, Scalar(2)) * Scalar(2);
  const Tensor ends = ops::where(ops::gt(x, Scalar(0)), right, left * sign);
  const Tensor inside = angle(ops::acos(ops::clamp(x, Scalar(-1), Scalar(1))));
  return ops::where(closed, ops::where(ops::eq(size, Scalar(1)), ends, inside), value);
}
Tensor chebyshev_t(const Tensor& x, const Degrees& n) {
  const Tensor one = ops::ones_like(n.each);
  return chebyshev(x, n, x, one, one, [&](const Tensor& turn) { return ops::cos(n.each * turn); });
}
Tensor chebyshev_u(const Tensor& x, const Degrees& n) {
  const Tensor above = n.each + Scalar(1);
  return chebyshev(x, n, x + x, above, above,
                   [&](const Tensor& turn) { return ops::sin(above * turn) / ops::sin(turn); });
}
Tensor chebyshev_v(const Tensor& x, const Degrees& n) {
  const Tensor half = n.each + Scalar(0.5);
  return chebyshev(x, n, x + x + Scalar(-1), ops::ones_like(half), half * Scalar(2),
                   [&](const Tensor& turn) { return ops::cos(half * turn) / ops::cos(turn * Scalar(0.5)); });
}
Tensor chebyshev_w(const Tensor& x, const Degrees& n) {
  const Tensor half = n.each + Scalar(0.5);
  return chebyshev(x, n, x + x + Scalar(1), half * Scalar(2), ops::ones_like(half),
                   [&](const Tensor& turn) { return ops::sin(half * turn) / ops::sin(turn * Scalar(0.5)); });
}

// Beyond a limit they outgrow the type; PyTorch gives nan.
template <class Next>
Tensor hermite(const Tensor& first, const Degrees& n, Next next) {
  const int64_t limit = first.dtype() == DType::float64 ? 512 : 128;
  const Tensor value = recurrence(first, n, std::min(limit, steps_for(n, n.each)), next);
  return ops::masked_fill(value, ops::gt(n.each, Scalar(limit)), Scalar(kNan));
}
Tensor hermite_h(const Tensor& x, const Degrees& n) {
  const Tensor twice = x + x;
  return hermite(twice, n,
                 [&](double k, const Tensor& p, const Tensor& q) { return twice * p - q * Scalar(k + k); });
}
Tensor hermite_he(const Tensor& x, const Degrees& n) {
  return hermite(x, n, [&](double k, const Tensor& p, const Tensor& q) { return x * p - q * Scalar(k); });
}
Tensor laguerre_l(const Tensor& x, const Degrees& n) {
  const Tensor first = Scalar(1) - x;
  return recurrence(first, n, steps_for(n, n.each), [&](double k, const Tensor& p, const Tensor& q) {
    return ((first + Scalar(k + k)) * p - q * Scalar(k)) / Scalar(k + 1);
  });
}
Tensor legendre_p(const Tensor& x, const Degrees& n) {
  return recurrence(x, n, steps_for(n, n.each), [&](double k, const Tensor& p, const Tensor& q) {
    return (x * Scalar(k + k + 1) * p - q * Scalar(k)) / Scalar(k + 1);
  });
}

using Polynomial = Tensor (*)(const Tensor&, const Degrees&);
// N: a tensor or a number.
template <class N>
Tensor polynomial_of(Polynomial function, bool shifted, const Tensor& x, const N& n, const char* name) {
  const DType dtype = infer::float_if_integral(infer::result_type(x, n));
  const Tensor given = as_single_or_double(x, dtype, name);
  return function(shifted ? given + given + Scalar(-1) : given, [&] {
    if constexpr (std::is_same_v<N, Tensor>) return degrees(as_single_or_double(n, dtype, name), given);
    else return degrees(n, given);
  }());
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
  return ops::masked_fill(part, undefined, Scalar(kNan));
}

}  // namespace

Tensor i0e(const Tensor& self) { return scaled_i(self, 0); }
Tensor i0(const Tensor& self) { return grown(self, scaled_i(self, 0)); }
Tensor i1e(const Tensor& self) { return scaled_i(self, 1); }
Tensor i1(const Tensor& self) { return grown(self, scaled_i(self, 1)); }

Tensor bessel_j0(const Tensor& self) { return bessel_j(single_or_double(self, "bessel_j0"), 0); }
Tensor bessel_j1(const Tensor& self) { return bessel_j(single_or_double(self, "bessel_j1"), 1); }
Tensor bessel_y0(const Tensor& self) { return bessel_y(single_or_double(self, "bessel_y0"), 0); }
Tensor bessel_y1(const Tensor& self) { return bessel_y(single_or_double(self, "bessel_y1"), 1); }
Tensor modified_bessel_i0(const Tensor& self) { return i0(single_or_double(self, "modified_bessel_i0")); }
Tensor modified_bessel_i1(const Tensor& self) { return i1(single_or_double(self, "modified_bessel_i1")); }
Tensor modified_bessel_k0(const Tensor& self) {
  return bessel_k(single_or_double(self, "modified_bessel_k0"), 0, false);
}
Tensor modified_bessel_k1(const Tensor& self) {
  return bessel_k(single_or_double(self, "modified_bessel_k1"), 1, false);
}
Tensor scaled_modified_bessel_k0(const Tensor& self) {
  return bessel_k(single_or_double(self, "scaled_modified_bessel_k0"), 0, true);
}
Tensor scaled_modified_bessel_k1(const Tensor& self) {
  return bessel_k(single_or_double(self, "scaled_modified_bessel_k1"), 1, true);
}

Tensor spherical_bessel_j0(const Tensor& self) {
  const Tensor x = single_or_double(self, "spherical_bessel_j0"), small = ops::lt(ops::abs(x), Scalar(1e-4));
  const Tensor near = x * x * Scalar(-1.0 / 6) + Scalar(1);
  const Tensor value = ops::where(small, near, ops::sin(x) / ops::where(small, Scalar(1), x));
  return ops::masked_fill(value, ops::isinf(x), Scalar(0));
}

// Amplitude and phase below -4, decay above 2; see tools/fit_special_functions.py.
Tensor airy_ai(const Tensor& self) {
  namespace c = coefficients;
  const Tensor x = single_or_double(self, "airy_ai");
  const auto exponent = [](const Tensor& size) { return size * ops::sqrt(size) * Scalar(2.0 / 3); };
  const auto fourth_root = [](const Tensor& size) { return ops::sqrt(ops::sqrt(size)); };
  const Tensor right = ops::clamp_min(x, Scalar(2)), decay = exponent(right);
  const Tensor shrunk = ops::reciprocal(decay) * Scalar(8 * std::sqrt(2.0) / 3) + Scalar(-1);
  const Tensor high =
      fitted(c::airy_decay, shrunk) * ops::exp(-decay) / fourth_root(right) * Scalar(0.5 / std::sqrt(pi));
  const Tensor left = ops::clamp_min(-x, Scalar(4)), phase = exponent(left);
  const Tensor u = ops::reciprocal(phase) * Scalar(16.0 / 3), t = u * u * Scalar(2) + Scalar(-1);
  const Tensor p = fitted(c::airy_sine, t), q = u * fitted(c::airy_cosine, t);
  const Tensor sine = ops::sin(phase), cosine = ops::cos(phase);  // of an eighth of a turn more: by both
  const Tensor low =
      (p * (sine + cosine) - q * (cosine - sine)) / fourth_root(left) * Scalar(std::sqrt(0.5 / pi));
  const Tensor middle =
      fitted(c::airy_middle, (ops::clamp(x, Scalar(-4), Scalar(2)) + Scalar(1)) * Scalar(1.0 / 3));
  const Tensor value =
      ops::where(ops::gt(x, Scalar(2)), high, ops::where(ops::lt(x, Scalar(-4)), low, middle));
  return ops::masked_fill(value, ops::isinf(x), Scalar(kNan));
}

Tensor erfcx(const Tensor& self) { return scaled_erfc(single_or_double(self, "erfcx")); }
Tensor log_ndtr(const Tensor& self) {
  const Tensor x = single_or_double(self, "log_ndtr"), far = ops::clamp_max(x, Scalar(-1));
  const Tensor tail = ops::log(scaled_erfc(far * Scalar(-kRootHalf)) * Scalar(0.5)) - far * far * Scalar(0.5);
  return ops::where(ops::lt(x, Scalar(-1)), tail,
                    ops::log1p(ops::erfc(x * Scalar(kRootHalf)) * Scalar(-0.5)));
}

Tensor zeta(const Tensor& self, const Tensor& other) {
  const auto [x, q] = single_or_double(self, other, "zeta");
  return zeta_of(x, q);
}
Tensor zeta(const Tensor& self, const Scalar& other) { return zeta(self, number_beside(other, self)); }

Tensor polygamma(const Tensor& self, const Scalar& n) {
  const Tensor x = floating(self);
  const double order = n.to<double>(), sign = std::fmod(order, 2) == 0 ? -1 : 1;
  const Tensor sum = zeta_of(ops::full_like(x, Scalar(order + 1)), x) * Scalar(sign * std::tgamma(order + 1));
  return order == 1 ? ops::masked_fill(sum, ops::eq(x, Scalar(kInfinity)), Scalar(0)) : sum;
}

Tensor igamma(const Tensor& self, const Tensor& other) { return gamma_part(self, other, false); }
Tensor igammac(const Tensor& self, const Tensor& other) { return gamma_part(self, other, true); }
Tensor igamma_slope(const Tensor& self, const Tensor& other) {
  const auto [a, x] = floating_pair(self, other, "igamma_slope");
  const Tensor slope = ops::exp(ops::xlogy(a + Scalar(-1), x) - x - ops::lgamma(a));
  return ops::masked_fill(slope, ops::lt(x, Scalar(0)), Scalar(kNan));
}

Tensor xlog1py(const Tensor& self, const Scalar& other) {
  return ops::special_xlog1py(self, number_beside(other, self));
}

Tensor entr(const Tensor& self) {
  return ops::where(ops::lt(self, Scalar(0)), Scalar(-kInfinity), ops::neg(ops::xlogy(self, self)));
}

Tensor ndtr(const Tensor& self) {
  return ops::mul(ops::erfc(ops::mul(wide(self), Scalar(-kRootHalf))), Scalar(0.5));
}

#define MT_POLYNOMIAL(NAME, FUNCTION, SHIFTED)                                                            \
  Tensor NAME(const Tensor& x, const Tensor& n) { return polynomial_of(FUNCTION, SHIFTED, x, n, #NAME); } \
  Tensor NAME(const Tensor& x, const Scalar& n) { return polynomial_of(FUNCTION, SHIFTED, x, n, #NAME); }
MT_POLYNOMIAL(chebyshev_polynomial_t, chebyshev_t, false)
MT_POLYNOMIAL(chebyshev_polynomial_u, chebyshev_u, false)
MT_POLYNOMIAL(chebyshev_polynomial_v, chebyshev_v, false)
MT_POLYNOMIAL(chebyshev_polynomial_w, chebyshev_w, false)
MT_POLYNOMIAL(shifted_chebyshev_polynomial_t, chebyshev_t, true)
MT_POLYNOMIAL(shifted_chebyshev_polynomial_u, chebyshev_u, true)
MT_POLYNOMIAL(shifted_chebyshev_polynomial_v, chebyshev_v, true)
MT_POLYNOMIAL(shifted_chebyshev_polynomial_w, chebyshev_w, true)
MT_POLYNOMIAL(hermite_polynomial_h, hermite_h, false)
MT_POLYNOMIAL(hermite_polynomial_he, hermite_he, false)
MT_POLYNOMIAL(laguerre_polynomial_l, laguerre_l, false)
MT_POLYNOMIAL(legendre_polynomial_p, legendre_p, false)
#undef MT_POLYNOMIAL

}  // namespace mt::substitutes
