// Elementary functions of doubles without branches, so that loops over them vectorise: the counterpart of the float ones
// in vector_math.h, which includes this. Errors stay below one unit of the last place where products and sums fuse.
// Polynomials: tools/fit_elementary_functions.py.
#pragma once

namespace mt::kernels::math {

#define MT_INLINE [[gnu::always_inline]] inline

inline constexpr double kInfinity64 = std::numeric_limits<double>::infinity();
inline constexpr double kNaN64 = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kRounder64 = 6755399441055744.0;  // 1.5 * 2^52, as kRounder

MT_INLINE double abs(double x) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & 0x7fffffffffffffffull);
}
MT_INLINE double copy_sign(double magnitude, double sign) {
  return std::bit_cast<double>((std::bit_cast<uint64_t>(magnitude) & 0x7fffffffffffffffull) |
                               (std::bit_cast<uint64_t>(sign) & 0x8000000000000000ull));
}

using Pair = PairOf<double>;
// A number or zero, by bits: of a condition that several values depend on, the compiler would make a branch, and of the
// branches two divisions.
MT_INLINE uint64_t all_or_none(bool condition) { return uint64_t(0) - uint64_t(condition); }
MT_INLINE double where(uint64_t bits, double x) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & bits);
}
// 1 / x to the digits of a float, which is enough to divide what a rounding lost, and takes half the time.
MT_INLINE double rough_inverse(double x) { return double(1.0f / float(x)); }

// The root by multiplications, for processors that fuse products with sums: from a guess by bits, the root and half of its
// inverse (Goldschmidt). What the root lacks is exact in a fused product, so that it is rounded as the processor's own.
MT_INLINE bool has_usual_root(double x) {
  return (x == 0.0) | ((x >= 1e-290) & (x < kInfinity64));  // what small ones lack would be subnormal
}
MT_INLINE double root_usual(double x) {
  const double guess = std::bit_cast<double>(0x5fe6eb50c7b537a9ull - (std::bit_cast<uint64_t>(x) >> 1));
  double root = x * guess, half = 0.5 * guess;
  for (int step = 0; step < 3; ++step) {
    const double lacks = 0.5 - root * half;
    root = root + root * lacks;
    half = half + half * lacks;
  }
  for (int step = 0; step < 2; ++step) root = root + half * (x - root * root);
  return root;
}

// ---- exponentials: as for floats, exp(x) = 2^n exp(r) ----
struct WideExponent {
  double r, rest;  // what is rounded off r
  uint64_t n;      // at the exponent's place
};
MT_INLINE WideExponent split_for_exp(double x) {
  const double shifted = x * 1.4426950408889634 + kRounder64, n = shifted - kRounder64;
  const double first = x - n * 6.93147180369123816e-01, r = first - n * 1.90821492927058770e-10;
  return {r, (first - r) - n * 1.90821492927058770e-10, std::bit_cast<uint64_t>(shifted) << 52};
}
// Of (exp(r) - 1 - r - r^2 / 2) / r^3, after `first` terms that are given.
template <class... First> MT_INLINE double terms_of_exp(double r, First... first) {
  return polynomial(r, first..., 0.16666666666666686, 0.041666666666602824, 0.0083333333333140152,
                    0.0013888888927248534, 0.00019841269904679893, 2.4801508125289087e-5,
                    2.7557226310556729e-6, 2.7625403489535065e-7, 2.51150168180789e-8);
}
// exp(r) - 1 - r
MT_INLINE double curve_of_exp(double r) { return (r * r) * terms_of_exp(r, 0.5); }
// exp(x + rest), where the rest is less than the last places of x.
MT_INLINE double exp_of_sum(double x, double rest) {
  double c = select(x < -746.0, -746.0, x);
  c = select(c > 710.0, 710.0, c);
  const WideExponent parts = split_for_exp(c);
  const double left = parts.rest + rest;
  const double e = 1.0 + (parts.r + (curve_of_exp(parts.r + left) + left));
  const bool small = c < -690.0;
  // In two steps: 2^1024 is no number, and what becomes subnormal must be rounded once.
  const double power = std::bit_cast<double>(parts.n + (small ? uint64_t(1123) << 52 : uint64_t(1022) << 52));
  return e * power * select(small, 0x1p-100, 2.0);
}
MT_INLINE double exp(double x) { return exp_of_sum(x, 0.0); }
MT_INLINE double exp_below(double x) { return exp(x); }
MT_INLINE double exp_of_moderate(double x) {
  const WideExponent parts = split_for_exp(x);
  const double e = 1.0 + (parts.r + (curve_of_exp(parts.r) + parts.rest));
  return e * std::bit_cast<double>(parts.n + (uint64_t(1023) << 52));
}
// The power of a part of 2, up to half of it either way.
MT_INLINE double exp2_of_part(double part) {
  const double r = part * 0.6931471805599453;
  const double rest = (part * 6.93147180369123816e-01 - r) + part * 1.90821492927058770e-10;
  return 1.0 + (r + (curve_of_exp(r) + rest));
}
MT_INLINE double exp2_of_moderate(double x) {
  const double shifted = x + kRounder64, e = exp2_of_part(x - (shifted - kRounder64));
  return e * std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) << 52) + (uint64_t(1023) << 52));
}
// The whole part is exact.
MT_INLINE double exp2(double x) {
  double c = select(x < -1080.0, -1080.0, x);
  c = select(c > 1030.0, 1030.0, c);
  const double shifted = c + kRounder64, e = exp2_of_part(c - (shifted - kRounder64));
  const bool small = c < -1000.0, large = c > 1000.0;
  const uint64_t offset = small ? uint64_t(1223) << 52 : large ? uint64_t(823) << 52 : uint64_t(1023) << 52;
  const double power = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) << 52) + offset);
  return e * power * select(small, 0x1p-200, select(large, 0x1p200, 1.0));
}
// Half of exp(x) - 1 for x up to 710.
MT_INLINE Pair half_expm1(double x) {
  const WideExponent parts = split_for_exp(x);
  const double half = std::bit_cast<double>(parts.n + (uint64_t(1022) << 52));  // of the power
  const Pair line = added(half - 0.5, parts.r * half);
  return added(line.value, line.lost + (curve_of_exp(parts.r) + parts.rest) * half);
}
// The square of the upper half of r is exact.
MT_INLINE double expm1(double x) {
  double c = select(x < -40.0, -40.0, x);
  c = select(c > 710.0, 710.0, c);
  const WideExponent parts = split_for_exp(c);
  const double half = std::bit_cast<double>(parts.n + (uint64_t(1022) << 52)), base = half - 0.5;
  const double r = parts.r, upper = upper_half(r), lower = (r - upper) * (r + upper);
  const double rest = ((r * r * r) * terms_of_exp(r) + 0.5 * lower) + (parts.rest + parts.rest * r);
  const Pair line = added(base, r * half), bent = added(line.value, upper * upper * (0.5 * half));
  const double value = bent.value + (bent.lost + (line.lost + (((half - base) - 0.5) + rest * half)));
  return select(abs(x) < 1e-300, x, 2.0 * value);
}
MT_INLINE double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

// ---- logarithms ----
// log(1 + f) - f + f^2 / 2 for 1 + f in [sqrt(1/2), sqrt(2)).
MT_INLINE double rest_of_log(double f, double half_square) {
  const double s = f / (2.0 + f), z = s * s;
  const double p =
      z * polynomial(z, 0.66666666666666666, 0.40000000000000878, 0.28571428570803255, 0.22222222391794728,
                     0.18181795631498244, 0.15386240172447837, 0.13268760562036725, 0.13086757666952071);
  return s * (half_square + p);
}
// log(1 + f) + e ln 2
MT_INLINE double log_of_parts(double f, double e) {
  const double half_square = 0.5 * f * f;
  const double small = rest_of_log(f, half_square) + e * 1.90821492927058770e-10;
  return e * 6.93147180369123816e-01 - ((half_square - small) - f);
}
// The same and `more`, which is small.
MT_INLINE double log_of_parts(double f, double e, double more) {
  const double half_square = 0.5 * f * f;
  const double small = rest_of_log(f, half_square) + (e * 1.90821492927058770e-10 + more);
  const Pair line = added(e * 6.93147180369123816e-01, f);
  return line.value + (line.lost + (small - half_square));
}
// The same for another base: `unit` is its logarithm of e, `two` that of 2, each in an upper half and a rest.
MT_INLINE double log_of_parts(double f, double e, Pair unit, Pair two) {
  const double half_square = 0.5 * f * f, rest = rest_of_log(f, half_square);
  const double upper = upper_half(f - half_square), lower = ((f - upper) - half_square) + rest;
  const Pair sum = added(e * two.value, upper * unit.value);
  return sum.value +
         (sum.lost + ((lower + upper) * unit.lost + sum_of_products(lower, unit.value, e, two.lost)));
}
struct WideMantissa {
  double f, e;
};
MT_INLINE bool has_usual_log(double x) { return (x >= 2.2250738585072014e-308) & (x < kInfinity64); }
MT_INLINE WideMantissa split_usual(double x) {
  const uint64_t offset = std::bit_cast<uint64_t>(x) - 0x3fe6a09e667f3bcdull;
  const uint64_t mantissa = (offset & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull;
  // The exponent as a double without a 64-bit conversion, which SSE2 and AVX2 do not have.
  const uint64_t biased = (offset + (uint64_t(1024) << 52)) >> 52;
  const double e = std::bit_cast<double>(biased | 0x4330000000000000ull) - 4503599627371520.0;
  return {std::bit_cast<double>(mantissa) - 1.0, e};
}
MT_INLINE WideMantissa split_for_log(double x) {
  const bool tiny = x < 2.2250738585072014e-308;
  const WideMantissa parts = split_usual(select(tiny, x * 0x1p54, x));
  return {parts.f, parts.e - select(tiny, 54.0, 0.0)};
}
MT_INLINE double log_at_edges(double x, double value) {
  value = select(x < kInfinity64, value, x);  // infinity and NaN
  value = select(x == 0.0, -kInfinity64, value);
  return select(x < 0.0, kNaN64, value);
}
// Of a positive normal number.
MT_INLINE double log_of(WideMantissa parts) { return log_of_parts(parts.f, parts.e); }
MT_INLINE double log2_of(WideMantissa parts) {
  return log_of_parts(parts.f, parts.e, {1.4426950216293335, 1.9259629911266175e-08}, {1.0, 0.0});
}
MT_INLINE double log10_of(WideMantissa parts) {
  return log_of_parts(parts.f, parts.e, {0.4342944771051407, 4.798111141615973e-09},
                      {0.3010299950838089, 5.801722962879576e-10});
}
MT_INLINE double log_usual(double x) { return log_of(split_usual(x)); }
MT_INLINE double log2_usual(double x) { return log2_of(split_usual(x)); }
MT_INLINE double log10_usual(double x) { return log10_of(split_usual(x)); }
MT_INLINE double log(double x) { return log_at_edges(x, log_of(split_for_log(x))); }
MT_INLINE double log2(double x) { return log_at_edges(x, log2_of(split_for_log(x))); }
MT_INLINE double log10(double x) { return log_at_edges(x, log10_of(split_for_log(x))); }
// log(1 + x + rest): the logarithm of the sum as it is rounded, and what the rounding left out.
MT_INLINE double log1p_of_sum(double x, double rest) {
  const double u = 1.0 + x;
  const double lost = select(abs(x) < 1.0, x - (u - 1.0), 1.0 - (u - x)) + rest;
  const WideMantissa parts = split_for_log(u);
  double value = log_of_parts(parts.f, parts.e, lost * rough_inverse(u));
  value = select(x < kInfinity64, value, x);
  value = select(x == -1.0, -kInfinity64, value);
  return select(x < -1.0, kNaN64, value);
}
MT_INLINE double log1p(double x) { return select(x == 0.0, x, log1p_of_sum(x, 0.0)); }
// Half of log(1 + q) with q = 2a / (1 - a).
MT_INLINE double atanh(double x) {
  const double a = abs(x), d = 1.0 - a, q = (a + a) / d;
  const double rest = (((a + a) - q * d) - q * ((1.0 - d) - a)) * rough_inverse(d);
  return copy_sign(select(a < 1e-9, a, 0.5 * log1p_of_sum(q, select(a < 1.0, rest, 0.0))), x);
}

// The logarithm of 1 + (a + a^2 / (1 + sqrt(1 + a^2))); of a very large number that of twice it.
MT_INLINE double asinh(double x) {
  const double a = abs(x), inside = select(a > 1e18, 1.0, a), square = inside * inside;
  const Pair u = added(inside, square / (1.0 + std::sqrt(1.0 + square)));
  const double value = log1p_of_sum(select(a > 1e18, a, u.value), select(a > 1e18, 0.0, u.lost));
  return copy_sign(select(a < 1e-9, a, value + select(a > 1e18, 0.6931471805599453, 0.0)), x);
}
// With t = x - 1, the logarithm of 1 + (t + sqrt(t (t + 2))).
MT_INLINE double acosh(double x) {
  const double t = select(x > 1e18, 1.0, x) - 1.0, square = t * (t + 2.0), root = std::sqrt(square);
  const double lacks =
      ((square - root * root) + ((t * t - square) + (t + t))) * rough_inverse(root + root + 1e-30);
  const Pair u = added(root, t);  // the root is the larger one
  const double value = log1p_of_sum(select(x > 1e18, x, u.value), select(x > 1e18, 0.0, u.lost + lacks));
  return select(x >= 1.0, value + select(x > 1e18, 0.6931471805599453, 0.0), kNaN64);
}

// ---- hyperbolic functions ----
// A quarter of the exponential of a >= 0, which is a number where the whole one is not any more, with what its
// rounding loses.
MT_INLINE Pair quarter_exp(double a) {
  const WideExponent parts = split_for_exp(select(a > 710.5, 710.5, a));
  const Pair line = added(1.0, parts.r);
  const double power = std::bit_cast<double>(parts.n + (uint64_t(1021) << 52));
  return {line.value * power, (line.lost + (curve_of_exp(parts.r) + parts.rest)) * power};
}
MT_INLINE double cosh(double x) {
  const Pair e = quarter_exp(abs(x)), sum = added(e.value, 0.0625 / (e.value + e.lost));
  return select(x == x, (sum.value + (sum.lost + e.lost)) * 2.0, x);
}
// Near zero its odd terms, which the difference of exponentials would lose.
MT_INLINE double sinh(double x) {
  const double a = abs(x), z = x * x;
  const double near_zero =
      a + a * (z * polynomial(z, 0.16666666666666667, 0.0083333333333333334, 0.00019841269841269773,
                              2.7557319224040339e-6, 2.5052108364058041e-8, 1.6059048396350562e-10,
                              7.6466253616566577e-13, 2.8445264169895286e-15));
  const Pair e = quarter_exp(a), sum = added(e.value, -0.0625 / (e.value + e.lost));
  const double far = (sum.value + (sum.lost + e.lost)) * 2.0;
  return copy_sign(select(a < 1.0, near_zero, select(x == x, far, x)), x);
}
// m / (m + 2), where m is exp(2x) - 1; 1 from 20 on.
MT_INLINE double tanh(double x) {
  const double a = abs(x);
  const Pair m = half_expm1(2.0 * select(a > 20.0, 20.0, a));
  const double below = 1.0 + m.value, below_lost = (m.value - (below - 1.0)) + m.lost;
  const double inverse = 1.0 / below, q = m.value * inverse;
  const double lacks = ((m.value - q * below) + (m.lost - q * below_lost)) * inverse;
  return copy_sign(select(a < 1e-9, a, q + lacks), x);
}

// ---- circular functions ----
// As quarters_off of floats, for |x| < 1e5: in three parts, the first two short enough for exact products.
struct WideTurns {
  double r, rest;
  uint64_t quarters;
};
MT_INLINE WideTurns quarters_off(double x) {
  const double shifted = x * 0.6366197723675814 + kRounder64, n = shifted - kRounder64;
  const double first = x - n * 1.57079632673412561417, r = first - n * 6.07710050630396597660e-11;
  const double rest = ((first - r) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
  return {r, rest, std::bit_cast<uint64_t>(shifted)};
}
MT_INLINE double sine_at(double x, uint64_t quarter) {
  const WideTurns left = quarters_off(x);
  const double r = left.r, z = r * r;
  const double s = r + (left.rest + (r * z) * polynomial(z, -0.16666666666666667, 0.0083333333333333315,
                                                         -0.00019841269841265063, 2.755731921933767e-6,
                                                         -2.5052106231927856e-8, 1.6058531536611834e-10,
                                                         -7.5866922620943443e-13));
  const double half = 0.5 * z, base = 1.0 - half;
  const double curve = polynomial(z, 0.041666666666666665, -0.0013888888888887397, 2.4801587298764779e-5,
                                  -2.7557317271258512e-7, 2.0876146170183975e-9, -1.1382625349447593e-11);
  const double c = base + (((1.0 - base) - half) + difference_of_products(z * z, curve, r, left.rest));
  const uint64_t turns = left.quarters + quarter;
  const double value = select((turns & 1u) != 0, c, s);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(value) ^ ((turns & 2u) << 62));
}
MT_INLINE double sin_usual(double x) { return select(x == 0.0, x, sine_at(x, 0)); }  // keeps the sign of zero
MT_INLINE double cos_usual(double x) { return sine_at(x, 1); }
// As tan of floats.
MT_INLINE double tan_usual(double x) {
  const WideTurns left = quarters_off(x);
  const double r = left.r + left.rest, r_rest = left.rest - (r - left.r);
  const double z = r * r, square = z * z, upper = upper_half(r), lower = (r - upper) * (r + upper);
  const double curve = square * polynomial(z, 0.13333333333333, 0.053968253968656954, 0.021869488517007984,
                                           0.008863236005017481, 0.0035921209594769908, 0.001455902926429687,
                                           0.000589574479434809, 0.00024123106118258218, 8.997138353981243e-5,
                                           5.561624457632575e-5, -1.1053599337309649e-5, 3.655292958870245e-5,
                                           -1.8335193672909663e-5, 8.488126944197478e-6);
  const double y = upper * upper * 0.3333333333333333 + (lower * 0.3333333333333333 + curve);
  const double value = r + r * y, lost = (r * y + (r - value)) + (r_rest + r_rest * (z + 0.9 * square));
  const double q = 1.0 / value, turned = -(q + q * ((1.0 - value * q) - lost * q));
  return select(x == 0.0, x, select((left.quarters & 1u) != 0, turned, value + lost));
}

// (atan(t) - t) / t^3 in z = t * t, for t up to 1/2.
MT_INLINE double rest_of_arc(double z) {
  return polynomial(z, -0.33333333333333333, 0.19999999999999488, -0.14285714285599188, 0.11111111100917375,
                    -0.090909086203225222, 0.076922947125402845, -0.066664356772359478, 0.058795784295824249,
                    -0.052400995079947131, 0.046280248685701532, -0.038066536720573659, 0.025006503566489508,
                    -0.0092157920470898591);
}
inline constexpr double kQuarter = 1.5707963267948966, kQuarterRest = 6.123233995736766e-17;
// turns quarters - (t + rest), for a t below that.
MT_INLINE double taken_off(double turns, double t, double rest) {
  const double base = turns * kQuarter, d = base - t;
  return d + (((base - d) - t) + (turns * kQuarterRest - rest));
}
// The arc of small / large, up to half a quarter; beyond 1/2 half a quarter less that of (large - small) / (large + small).
MT_INLINE Pair arc_of(double small, double large) {
  const uint64_t far = all_or_none(small > 0.5 * large);
  const double above = small - where(far, large);  // exact
  const Pair below = added(large, where(far, small));
  const double inverse = 1.0 / below.value, t = above * inverse, z = t * t;
  const double lacks = ((above - t * below.value) - t * below.lost) * inverse;
  const Pair arc = added(where(far, 0.5 * kQuarter), t);
  return {arc.value, arc.lost + (where(far, 0.5 * kQuarterRest) + (lacks + t * (z * rest_of_arc(z))))};
}
MT_INLINE double atan2(double y, double x) {
  const double up = abs(y), along = abs(x);
  const bool steep = up > along;
  double small = select(steep, along, up), large = select(steep, up, along);
  const bool far = large == kInfinity64;  // of two infinities neither is larger
  small = select(far, select(small == kInfinity64, 1.0, 0.0), small);
  large = select(far | (large == 0.0), 1.0, large);
  const double scale = select(large > 1e300, 0x1p-100, select(large < 1e-280, 0x1p200, 1.0));
  const Pair arc = arc_of(small * scale, large * scale);
  const bool left = std::bit_cast<int64_t>(x) < 0;
  // How many quarters the arc is taken off, or added to.
  const double turns = select(steep, 1.0, select(left, 2.0, 0.0));
  const bool off = steep != left;
  const double value = taken_off(turns, select(off, arc.value, -arc.value), select(off, arc.lost, -arc.lost));
  return copy_sign(select((x == x) & (y == y), value, kNaN64), y);
}
MT_INLINE double atan(double x) {
  const double a = abs(x), inside = select(a > 1e300, 1e300, a);
  const bool steep = a > 1.0;
  const Pair arc = arc_of(select(steep, 1.0, inside), select(steep, inside, 1.0));
  const double value = select(steep, taken_off(1.0, arc.value, arc.lost), arc.value + arc.lost);
  return copy_sign(select(x == x, value, x), x);
}

// ---- the length of two sides ----
MT_INLINE double hypot(double a, double b) {
  const double x = abs(a), y = abs(b), large = select(x > y, x, y), small = select(x > y, y, x);
  const double scale = select(large > 1e150, 0x1p-600, select(large < 1e-140, 0x1p600, 1.0));
  const double p = large * scale, q = small * scale, upper = upper_half(p);
  const Pair square = added(upper * upper, (p - upper) * (p + upper) + q * q);
  const double root = std::sqrt(square.value);
  const double lacks = ((square.value - root * root) + square.lost) / (root + root + 1e-300);
  const double length = (root + lacks) / scale;
  return select((x == kInfinity64) | (y == kInfinity64), kInfinity64, length);
}

// ---- powers ----
// The logarithm of a positive normal number to some 65 digits: with s = (m - 1) / (m + 1) for the mantissa m, and
// z = s^2, log(m) = 2 s + s z (2/3 + z P(z)). Upper halves are multiplied exactly.
MT_INLINE Pair long_log(double x) {
  const WideMantissa parts = split_usual(x);
  const double f = parts.f, e = parts.e;
  const Pair sum = added(2.0, f);
  const double inverse = 1.0 / sum.value, s = upper_half(f * inverse), sum_upper = upper_half(sum.value);
  const double lacks = ((f - s * sum_upper) - s * (sum.value - sum_upper)) - s * sum.lost;
  const double s_rest = lacks * inverse;
  const Pair square = added(s * s, (s + s + s_rest) * s_rest);
  const double z = upper_half(square.value), z_rest = (square.value - z) + square.lost;
  const double curve =
      square.value * polynomial(square.value, 0.4, 0.28571428571429366, 0.22222222221655909,
                                0.18181818335387601, 0.15384594963074134, 0.13334804663624337,
                                0.11706237148816372, 0.11723170160799074);
  const double q = upper_half(0.66666666666666663 + curve);
  const double q_rest = (0.66666666666666663 - q) + (curve + 3.7007434154171883e-17);
  const double product = z * q, v = upper_half(product);
  const double v_rest = (product - v) + sum_of_products(z, q_rest, z_rest, q + q_rest);
  const Pair first = added(e * 6.93147180369123816e-01, s + s), second = added(first.value, s * v);
  const double rest =
      (e * 1.90821492927058770e-10 + (s_rest + s_rest)) + sum_of_products(s, v_rest, s_rest, product);
  return added(second.value, (first.lost + second.lost) + rest);
}
// Powers of what is neither zero, subnormal nor infinite, nor its exponent. A negative number has powers of whole
// exponents only, negative ones of odd exponents.
MT_INLINE bool has_usual_power(double a, double b) {
  return (abs(a) >= 2.2250738585072014e-308) & (abs(a) < kInfinity64) & (abs(b) < 1e290);
}
MT_INLINE double power_usual(double a, double b) {
  const Pair log = long_log(abs(a));
  const double log_upper = upper_half(log.value), log_rest = (log.value - log_upper) + log.lost;
  const double b_upper = upper_half(b), b_rest = b - b_upper;
  const Pair product = added(b_upper * log_upper, sum_of_products(b_upper, log_rest, b_rest, log.value));
  const double size = exp_of_sum(product.value, select(abs(product.value) < 800.0, product.lost, 0.0));
  const double half = 0.5 * b;
  const bool whole = std::trunc(b) == b, odd = std::trunc(half) != half;
  const double signed_size = select(whole, select(odd, -size, size), kNaN64);
  return select(a < 0.0, signed_size, size);
}

// As half_arc of floats.
MT_INLINE Pair half_arc(double a) {
  const bool steep = a > 0.5;
  const double z = select(steep, 0.5 - 0.5 * a, a * a), root = std::sqrt(z), t = select(steep, root, a);
  const double lacks = select(steep, (z - root * root) * rough_inverse(root + root + 1e-30), 0.0);
  const double p =
      polynomial(z, 0.16666666666666667, 0.075000000000001178, 0.044642857142551893, 0.03038194447553234,
                 0.022372157443507222, 0.017352816540325495, 0.01396378001220357, 0.011566459612121669,
                 0.009621842970100281, 0.0093195607947674463, 0.0030448799094556774, 0.019554513336123379,
                 -0.019241671746743041, 0.02961201126495512);
  return {t, lacks + t * (z * p)};
}
MT_INLINE double asin(double x) {
  const double a = abs(x);
  const Pair arc = half_arc(a);
  const double steep = taken_off(1.0, 2.0 * arc.value, 2.0 * arc.lost);
  return copy_sign(select(a > 0.5, steep, arc.value + arc.lost), x);
}
MT_INLINE double acos(double x) {
  const double a = abs(x);
  const bool steep = a > 0.5;
  const Pair arc = half_arc(a);
  const double factor = select(steep, copy_sign(2.0, -x), copy_sign(1.0, x));
  const double turns = select(steep, select(x < 0.0, 2.0, 0.0), 1.0);
  return taken_off(turns, factor * arc.value, factor * arc.lost);
}

#undef MT_INLINE

}  // namespace mt::kernels::math
