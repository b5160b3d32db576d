// Elementary functions of doubles without branches, so that loops over them vectorise: the counterpart of the float ones
// in vector_math.h, which includes this. Errors stay below one unit of the last place or little above it; where a term
// is written as the rest of a rounding (b - (sum - a)), it is for that. Polynomials: tools/fit_elementary_functions.py.
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
// exp(r) - 1 - r
MT_INLINE double curve_of_exp(double r) {
  const double p =
      polynomial(r, 0.5000000000000001, 0.16666666666666667, 0.041666666666624136, 0.0083333333333300625,
                 0.0013888888917209671, 0.00019841269863050506, 2.4801521302241083e-5, 2.7557268464831626e-6,
                 2.7620085455018416e-7, 2.5100383195867021e-8);
  return (r * r) * p;
}
// exp(x + rest), where the rest is less than the last places of x.
MT_INLINE double exp_of_sum(double x, double rest) {
  double c = select(x < -746.0, -746.0, x);
  c = select(c > 710.0, 710.0, c);
  const WideExponent parts = split_for_exp(c);
  const double e = 1.0 + (parts.r + (curve_of_exp(parts.r + rest) + rest));
  const bool small = c < -690.0;
  // In two steps: 2^1024 is no number, and what becomes subnormal must be rounded once.
  const double power = std::bit_cast<double>(parts.n + (small ? uint64_t(1123) << 52 : uint64_t(1022) << 52));
  return e * power * select(small, 0x1p-100, 2.0);
}
MT_INLINE double exp(double x) { return exp_of_sum(x, 0.0); }
MT_INLINE double exp_below(double x) { return exp(x); }
MT_INLINE double exp_of_moderate(double x) {
  const WideExponent parts = split_for_exp(x);
  const double e = 1.0 + (parts.r + curve_of_exp(parts.r));
  return e * std::bit_cast<double>(parts.n + (uint64_t(1023) << 52));
}
MT_INLINE double expm1(double x) {
  double c = select(x < -40.0, -40.0, x);
  c = select(c > 710.0, 710.0, c);
  const WideExponent parts = split_for_exp(c);
  const double half = std::bit_cast<double>(parts.n + (uint64_t(1022) << 52));  // of the power
  const double value = 2.0 * ((parts.r * half + (half - 0.5)) + (curve_of_exp(parts.r) + parts.rest) * half);
  return select(abs(x) < 1e-300, x, value);
}
MT_INLINE double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

// ---- logarithms ----
// log(1 + f) + e ln 2 for 1 + f in [sqrt(1/2), sqrt(2)).
MT_INLINE double log_of_parts(double f, double e) {
  const double s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
  const double p =
      z * polynomial(z, 0.66666666666666666, 0.40000000000000878, 0.28571428570803255, 0.22222222391794728,
                     0.18181795631498244, 0.15386240172447837, 0.13268760562036725, 0.13086757666952071);
  const double small = s * (half_square + p) + e * 1.90821492927058770e-10;
  return e * 6.93147180369123816e-01 - ((half_square - small) - f);
}
struct WideMantissa {
  double f, e;
};
MT_INLINE WideMantissa split_for_log(double x) {
  const bool tiny = x < 2.2250738585072014e-308;
  const double scaled = select(tiny, x * 0x1p54, x);
  const uint64_t offset = std::bit_cast<uint64_t>(scaled) - 0x3fe6a09e667f3bcdull;
  const uint64_t mantissa = (offset & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull;
  // The exponent as a double without a 64-bit conversion, which SSE2 and AVX2 do not have.
  const uint64_t biased = (offset + (uint64_t(1024) << 52)) >> 52;
  const double e = std::bit_cast<double>(biased | 0x4330000000000000ull) - 4503599627371520.0;
  return {std::bit_cast<double>(mantissa) - 1.0, e - select(tiny, 54.0, 0.0)};
}
MT_INLINE double log(double x) { return std::log(x); }  // which is as fast
// log(1 + x + rest): the logarithm of the sum as it is rounded, and what the rounding left out.
MT_INLINE double log1p_of_sum(double x, double rest) {
  const double u = 1.0 + x;
  const double lost = select(abs(x) < 1.0, x - (u - 1.0), 1.0 - (u - x)) + rest;
  const WideMantissa parts = split_for_log(u);
  double value = log_of_parts(parts.f, parts.e) + lost / u;
  value = select(x < kInfinity64, value, x);
  value = select(x == -1.0, -kInfinity64, value);
  return select(x < -1.0, kNaN64, value);
}
MT_INLINE double log1p(double x) { return select(x == 0.0, x, log1p_of_sum(x, 0.0)); }
// Half of log(1 + q) with q = 2a / (1 - a).
MT_INLINE double atanh(double x) {
  const double a = abs(x), d = 1.0 - a, q = (a + a) / d;
  const double rest = (((a + a) - q * d) - q * ((1.0 - d) - a)) / d;
  return copy_sign(select(a < 1e-9, a, 0.5 * log1p_of_sum(q, select(a < 1.0, rest, 0.0))), x);
}

// ---- hyperbolic tangent: as for floats, 1 from 20 on ----
MT_INLINE double tanh(double x) {
  const double a = abs(x), z = x * x;
  const double p = polynomial(z, -0.33333333333333333, 0.13333333333333041, -0.053968253967896364,
                              0.021869488518981429, -0.0088632351026534843, 0.0035921217436959856,
                              -0.0014557753532096296, 0.00058966036065526714, -0.00023758968852117012,
                              9.2569235885120325e-5, -3.1198926667734875e-5, 6.4841049824054789e-6);
  const double near_zero = x + x * (z * p);
  const double e = exp_of_moderate(2.0 * select(a > 20.0, 20.0, a));
  const double far = 1.0 - 2.0 / (e + 1.0);
  return copy_sign(select(a < 0.625, near_zero, far), x);
}

// ---- circular functions ----
// For |x| < 1e5. The multiple of pi/2 goes in three parts, the first two short enough for exact products; what the second
// subtraction rounds off is carried along.
MT_INLINE double sine_at(double x, uint64_t quarter) {
  const double shifted = x * 0.6366197723675814 + kRounder64, n = shifted - kRounder64;
  const double first = x - n * 1.57079632673412561417, r = first - n * 6.07710050630396597660e-11;
  const double rest = ((first - r) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
  const uint64_t turns = std::bit_cast<uint64_t>(shifted) + quarter;
  const double z = r * r;
  const double s =
      r + (rest + (r * z) * polynomial(z, -0.16666666666666667, 0.0083333333333333315,
                                       -0.00019841269841265063, 2.755731921933767e-6, -2.5052106231927856e-8,
                                       1.6058531536611834e-10, -7.5866922620943443e-13));
  const double half = 0.5 * z, base = 1.0 - half;
  const double c =
      base + (((1.0 - base) - half) +
              ((z * z) * polynomial(z, 0.041666666666666665, -0.0013888888888887397, 2.4801587298764779e-5,
                                    -2.7557317271258512e-7, 2.0876146170183975e-9, -1.1382625349447593e-11) -
               r * rest));
  const double value = select((turns & 1u) != 0, c, s);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(value) ^ ((turns & 2u) << 62));
}
MT_INLINE double sin_usual(double x) { return select(x == 0.0, x, sine_at(x, 0)); }  // keeps the sign of zero
MT_INLINE double cos_usual(double x) { return sine_at(x, 1); }
MT_INLINE double tan_usual(double x) { return std::tan(x); }

// (atan(t) - t) / t^3 in z = t * t, for t up to 1.
MT_INLINE double rest_of_arc(double z) {
  return polynomial(z, -0.3333333333333333, 0.19999999999997532, -0.14285714285384132, 0.11111111093490828,
                    -0.090909085908919342, 0.076922989710332169, -0.066665646992891042, 0.058815068777936561,
                    -0.052579733342841108, 0.04737749579527779, -0.042603566326016521, 0.037494868125352471,
                    -0.031277189066996385, 0.023696731580048622, -0.015535152475414176, 0.0083689311784501621,
                    -0.0034958859739163095, 0.0010496035084968515, -0.00019996189377901382,
                    1.8061954618612152e-5);
}
inline constexpr double kQuarter = 1.5707963267948966, kQuarterRest = 6.123233995736766e-17;
// turns quarters - (t + rest), for a t below that.
MT_INLINE double taken_off(double turns, double t, double rest) {
  const double base = turns * kQuarter, d = base - t;
  return d + (((base - d) - t) + (turns * kQuarterRest - rest));
}
MT_INLINE double atan2(double y, double x) {
  const double up = abs(y), along = abs(x);
  const bool steep = up > along;
  double small = select(steep, along, up), large = select(steep, up, along);
  const bool far = large == kInfinity64;  // of two infinities neither is larger
  small = select(far, select(small == kInfinity64, 1.0, 0.0), small);
  large = select(far | (large == 0.0), 1.0, large);
  const double scale = select(large > 1e300, 0x1p-100, select(large < 1e-280, 0x1p200, 1.0));
  small = small * scale;
  large = large * scale;
  const double t = small / large, lacks = (small - t * large) / large, z = t * t;
  const double rest = lacks + t * (z * rest_of_arc(z));
  const double right = select(steep, taken_off(1.0, t, rest), t + rest);
  const double left = select(steep, taken_off(1.0, -t, -rest), taken_off(2.0, t, rest));
  const double value = select(std::bit_cast<int64_t>(x) < 0, left, right);
  return copy_sign(select((x == x) & (y == y), value, kNaN64), y);
}
MT_INLINE double atan(double x) { return std::atan(x); }

// As half_arc of floats, as a sum of two.
struct Arc {
  double t, rest;
};
MT_INLINE Arc half_arc(double a) {
  const bool steep = a > 0.5;
  const double z = select(steep, 0.5 - 0.5 * a, a * a), root = std::sqrt(z), t = select(steep, root, a);
  const double lacks = select(steep, (z - root * root) / (root + root + 1e-300), 0.0);
  const double p =
      polynomial(z, 0.16666666666666667, 0.075000000000001178, 0.044642857142551893, 0.03038194447553234,
                 0.022372157443507222, 0.017352816540325495, 0.01396378001220357, 0.011566459612121669,
                 0.009621842970100281, 0.0093195607947674463, 0.0030448799094556774, 0.019554513336123379,
                 -0.019241671746743041, 0.02961201126495512);
  return {t, lacks + t * (z * p)};
}
MT_INLINE double asin(double x) {
  const double a = abs(x);
  const Arc arc = half_arc(a);
  const double steep = taken_off(1.0, 2.0 * arc.t, 2.0 * arc.rest);
  return copy_sign(select(a > 0.5, steep, arc.t + arc.rest), x);
}
MT_INLINE double acos(double x) {
  const double a = abs(x);
  const Arc parts = half_arc(a);
  const double arc = parts.t + parts.rest, twice = 2.0 * arc;
  const double steep = select(x < 0.0, 2.0 * kQuarter - (twice - 2.0 * kQuarterRest), twice);
  return select(a > 0.5, steep, kQuarter - (copy_sign(arc, x) - kQuarterRest));
}

#undef MT_INLINE

}  // namespace mt::kernels::math
