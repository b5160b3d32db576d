// Quotients and remainders of floats, exact, without branches: in double, for operands whose quotient is not too large.
// Loops give blocks with others to the C library (see MT_BINARY_USUAL).
#pragma once

#include <type_traits>

#include "kernels/common/vector_math.h"

namespace mt::kernels::math {

#define MT_INLINE [[gnu::always_inline]] inline

// A quotient below 2^22 is whole after trunc, and times the divisor still exact.
MT_INLINE bool is_usual_quotient(float a, float b) {
  return (abs(a) < 4194304.0f * abs(b)) & (abs(b) <= std::numeric_limits<float>::max());
}
struct Quotient {
  double whole, rest;
};
MT_INLINE Quotient divide_usual(float a, float b) {
  const double x = a, y = b, whole = std::trunc(x / y);
  return {whole, x - whole * y};
}
MT_INLINE float fmod_usual(float a, float b) { return copy_sign(float(divide_usual(a, b).rest), a); }
MT_INLINE float remainder_usual(float a, float b) {
  const float rest = fmod_usual(a, b);
  return select((rest != 0.0f) & ((rest < 0.0f) != (b < 0.0f)), rest + b, rest);
}
MT_INLINE float floor_divide_usual(float a, float b) {
  const Quotient parts = divide_usual(a, b);
  const bool below = (parts.rest != 0.0) & ((parts.rest < 0.0) != (double(b) < 0.0));
  const float whole = float(parts.whole - select(below, 1.0, 0.0));
  return select(whole == 0.0f, copy_sign(0.0f, a / b), whole);
}

// Of doubles, a quotient below 2^26 times either half of the divisor's digits is exact, and so is what is left each time.
// The quotient may be rounded up to the next whole number, never down from one: the rest has the wrong sign then, and
// one divisor is put back.
MT_INLINE bool is_usual_quotient(double a, double b) {
  return (abs(a) < 67108864.0 * abs(b)) & (abs(b) <= std::numeric_limits<double>::max()) & (abs(b) > 1e-280);
}
MT_INLINE Quotient divide_usual(double a, double b) {
  const double x = abs(a), y = abs(b), up = std::trunc(x / y), upper = upper_half(y);
  const double rest = (x - up * upper) - up * (y - upper);
  const bool above = rest < 0.0;
  const double whole = select(above, up - 1.0, up), left = select(above, rest + y, rest);
  return {copy_sign(whole, copy_sign(1.0, a) * b), copy_sign(left, a)};
}
MT_INLINE double fmod_usual(double a, double b) { return divide_usual(a, b).rest; }
MT_INLINE double remainder_usual(double a, double b) {
  const double rest = fmod_usual(a, b);
  return select((rest != 0.0) & ((rest < 0.0) != (b < 0.0)), rest + b, rest);
}
MT_INLINE double floor_divide_usual(double a, double b) {
  const Quotient parts = divide_usual(a, b);
  const bool below = (parts.rest != 0.0) & ((parts.rest < 0.0) != (b < 0.0));
  const double whole = parts.whole - select(below, 1.0, 0.0);
  return select(whole == 0.0, copy_sign(0.0, a / b), whole);
}

template <class T>
  requires std::is_floating_point_v<T>
MT_INLINE T trunc_divide_usual(T a, T b) {
  return std::trunc(a / b);
}

// Of integers, a quotient of doubles that hold both is rounded by less than what separates it from the next whole number,
// if the dividend is below 2^52. Other sizes divide as fast by themselves.
template <class T>
  requires std::is_same_v<T, int64_t>
MT_INLINE bool is_usual_quotient(T a, T b) {
  constexpr int64_t bound = int64_t(1) << 52;
  return (a > -bound) & (a < bound) & (b > -bound) & (b < bound) & (b != 0);
}
template <class T>
  requires std::is_same_v<T, int32_t>
MT_INLINE bool is_usual_quotient(T a, T b) {
  return (a != std::numeric_limits<int32_t>::min()) & (b != 0);
}
template <class T>
  requires std::is_integral_v<T>
MT_INLINE T trunc_divide_usual(T a, T b) {
  return T(std::trunc(double(a) / double(b)));
}
template <class T>
  requires std::is_integral_v<T>
MT_INLINE T floor_divide_usual(T a, T b) {
  return T(std::floor(double(a) / double(b)));
}
template <class T>
  requires std::is_integral_v<T>
MT_INLINE T fmod_usual(T a, T b) {
  return T(a - trunc_divide_usual(a, b) * b);
}
template <class T>
  requires std::is_integral_v<T>
MT_INLINE T remainder_usual(T a, T b) {
  return T(a - floor_divide_usual(a, b) * b);
}

#undef MT_INLINE

}  // namespace mt::kernels::math
