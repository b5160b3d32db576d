// Quotients and remainders of floats, exact, without branches: in double, for operands whose quotient is not too large.
// Loops give blocks with others to the C library (see MT_BINARY_USUAL).
#pragma once

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

#undef MT_INLINE

}  // namespace mt::kernels::math
