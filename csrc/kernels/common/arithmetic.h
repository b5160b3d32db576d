// Arithmetic with PyTorch's meaning for every compute type: integers wrap, division by zero of integers is an
// error, remainders take Python's sign, maximum and minimum propagate NaN, complex products are the plain
// formula.
#pragma once

#include <cmath>
#include <limits>
#include <utility>

#include "kernels/common/types.h"
#include "kernels/common/vector_math.h"

namespace mt::kernels::math {

#define MT_INLINE [[gnu::always_inline]] inline

#ifdef MT_DEVICE_CODE
MT_INLINE void fail_zero_division() {}  // as PyTorch on such devices: the quotient is what the chip gives
#else
[[noreturn]] void fail_zero_division();  // as PyTorch: RuntimeError("ZeroDivisionError")
#endif

// Signed overflow is undefined in C++, and small types promote to int: unsigned arithmetic of at least 32
// bits wraps.
template <class T>
using wrapping_t = std::conditional_t<(sizeof(T) <= 4), uint32_t, uint64_t>;

template <class T> MT_INLINE T add(T a, T b) {
  if constexpr (is_integer_v<T>) return T(wrapping_t<T>(a) + wrapping_t<T>(b));
  else return T(a + b);
}
template <class T> MT_INLINE T sub(T a, T b) {
  if constexpr (is_integer_v<T>) return T(wrapping_t<T>(a) - wrapping_t<T>(b));
  else return T(a - b);
}
template <class T> MT_INLINE T mul(T a, T b) {
  if constexpr (is_integer_v<T>) return T(wrapping_t<T>(a) * wrapping_t<T>(b));
  else if constexpr (is_complex_v<T>)
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  else return T(a * b);
}
template <class T> MT_INLINE T neg(T a) {
  if constexpr (is_integer_v<T>) return T(wrapping_t<T>(0) - wrapping_t<T>(a));
  else return -a;
}

// NaN differs from itself; integers never do, so one spelling serves all types.
template <class T> MT_INLINE bool is_nan(T x) {
  if constexpr (is_complex_v<T>) return x.real() != x.real() || x.imag() != x.imag();
  else return x != x;
}
template <class T> MT_INLINE bool is_inf(T x) {
  if constexpr (is_complex_v<T>) return is_inf(x.real()) || is_inf(x.imag());
  else if constexpr (std::is_floating_point_v<T>) return std::abs(x) == std::numeric_limits<T>::infinity();
  else return false;
}

// See Note [Selecting by bits].
template <class T> MT_INLINE T maximum(T a, T b) { return select((a > b) | is_nan(a), a, b); }
template <class T> MT_INLINE T minimum(T a, T b) { return select((a < b) | is_nan(a), a, b); }
template <class T> MT_INLINE T clamp_min(T x, T low) { return select((x < low) | is_nan(low), low, x); }
template <class T> MT_INLINE T clamp_max(T x, T high) { return select((x > high) | is_nan(high), high, x); }

template <class T> MT_INLINE T absolute(T x) {
  if constexpr (is_complex_v<T>) return T(std::abs(x), 0);
  else if constexpr (std::is_unsigned_v<T>) return x;  // bool included
  else if constexpr (std::is_integral_v<T>) return x < 0 ? neg(x) : x;
  else return std::fabs(x);
}
template <class T> MT_INLINE T sign(T x) {
  if constexpr (std::is_unsigned_v<T>) return T(x != 0);
  else if constexpr (std::is_floating_point_v<T>)
    return select(x > T(0), T(1), select(x < T(0), T(-1), T(0)));
  else return T((x > T(0)) - (x < T(0)));
}
// Where both parts are finite and one is not zero, doubles hold every square of a float.
MT_INLINE bool has_usual_reciprocal(complex64 x) {
  const float zeros = (x.real() - x.real()) + (x.imag() - x.imag());
  return (zeros == 0.0f) & ((x.real() != 0.0f) | (x.imag() != 0.0f));
}
MT_INLINE complex64 reciprocal_usual(complex64 x) {
  const double a = x.real(), b = x.imag(), inverse = 1.0 / (a * a + b * b);
  return complex64(float(a * inverse), float(-b * inverse));
}
template <class T> MT_INLINE T reciprocal(T x) {
  if constexpr (std::is_same_v<T, complex64>)
    return has_usual_reciprocal(x) ? reciprocal_usual(x) : complex64(1) / x;
  else return T(1) / x;
}
template <class T> MT_INLINE T sqrt(T x) { return std::sqrt(x); }
template <class T> MT_INLINE T rsqrt(T x) { return T(1) / std::sqrt(x); }

// Rounding leaves integers as they are; rint rounds half to even.
#define MT_ROUNDING(name, function)                \
  template <class T> MT_INLINE T name(T x) {       \
    if constexpr (std::is_integral_v<T>) return x; \
    else return function(x);                       \
  }
MT_ROUNDING(floor, std::floor)
MT_ROUNDING(ceil, std::ceil)
MT_ROUNDING(round_even, std::rint)
MT_ROUNDING(trunc, std::trunc)
#undef MT_ROUNDING

// The smallest integer divided by -1 overflows (and traps on x86), so -1 is handled as a negation.
template <class T> MT_INLINE T truncating_divide(T a, T b) {
  if (b == 0) [[unlikely]]
    fail_zero_division();
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return neg(a);
  }
  return T(a / b);
}
template <class T> MT_INLINE T fmod(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) [[unlikely]]
      fail_zero_division();
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return T(0);
    }
    return T(a % b);
  } else {
    return std::fmod(a, b);
  }
}
template <class T> MT_INLINE T remainder(T a, T b) {
  const T rest = fmod(a, b);
  return rest != T(0) && (rest < T(0)) != (b < T(0)) ? T(rest + b) : rest;
}
template <class T> MT_INLINE T floor_divide(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const T quotient = truncating_divide(a, b);
    return fmod(a, b) != 0 && (a < 0) != (b < 0) ? T(quotient - 1) : quotient;
  } else {
    if (b == T(0)) return a / b;
    const T rest = std::fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient -= T(1);
    if (quotient == T(0)) return std::copysign(T(0), a / b);
    const T down = std::floor(quotient);
    return quotient - down > T(0.5) ? down + T(1) : down;
  }
}
// As in reciprocal: where all four parts are finite and b is not zero, doubles hold every product.
MT_INLINE bool has_usual_quotient(complex64 a, complex64 b) {
  const float zeros =
      (a.real() - a.real()) + (a.imag() - a.imag()) + (b.real() - b.real()) + (b.imag() - b.imag());
  return (zeros == 0.0f) & ((b.real() != 0.0f) | (b.imag() != 0.0f));
}
MT_INLINE complex64 divide_usual(complex64 a, complex64 b) {
  const double c = b.real(), d = b.imag(), inverse = 1.0 / (c * c + d * d);
  const double real = double(a.real()) * c + double(a.imag()) * d;
  const double imag = double(a.imag()) * c - double(a.real()) * d;
  return complex64(float(real * inverse), float(imag * inverse));
}
template <class T> MT_INLINE T divide(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return truncating_divide(a, b);  // only reached with rounding_mode="trunc"
  else if constexpr (std::is_same_v<T, complex64>)
    return has_usual_quotient(a, b) ? divide_usual(a, b) : a / b;
  else return a / b;
}

template <class T> MT_INLINE T power(T base, T exponent) {
  if constexpr (std::is_same_v<T, bool>) {
    return base || !exponent;
  } else if constexpr (std::is_integral_v<T>) {
    if (exponent < 0) {  // 1/base^n truncated: only ±1 survive
      if (base == 1) return T(1);
      if constexpr (std::is_signed_v<T>) {
        if (base == T(-1)) return T(exponent % 2 ? -1 : 1);
      }
      return T(0);
    }
    T result = 1;
    for (auto left = wrapping_t<T>(exponent); left; left >>= 1) {
      if (left & 1) result = mul(result, base);
      base = mul(base, base);
    }
    return result;
  } else if constexpr (is_complex_v<T>) {
    // The library goes through the logarithm, which has no value at 0 and costs digits elsewhere.
    if (exponent == T(0)) return T(1);
    if (exponent == T(2)) return mul(base, base);
    // In double no digits are missed and nothing overflows.
    if constexpr (std::is_same_v<T, complex64>) {
      const double x = base.real(), y = base.imag(), size = x * x + y * y;
      const double length = 0.5 * log(size), angle = atan2(y, x);
      const double growth = exponent.real() * length - exponent.imag() * angle;
      const double turn = exponent.imag() * length + exponent.real() * angle;
      if (size > 0 && abs(growth) < 80 && abs(turn) < 1e4) {
        const double scale = exp(growth);
        return T(float(scale * cos_usual(turn)), float(scale * sin_usual(turn)));
      }
    }
    return std::pow(base, exponent);
  } else {
    return std::pow(base, exponent);
  }
}

template <class T> MT_INLINE bool sign_bit(T x) {
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<int64_t>(x) < 0;
  else if constexpr (std::is_floating_point_v<T>) return std::signbit(x);
  else if constexpr (std::is_signed_v<T>) return x < 0;
  else return false;
}
// x as a mantissa of at least 1/2 and less than 1, and the power of two that it is multiplied by. Zero, infinity and NaN
// are their own mantissas.
template <class T> MT_INLINE std::pair<T, T> split_exponent(T x) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  constexpr int digits = std::numeric_limits<T>::digits - 1;  // behind the first
  constexpr Bits exponents = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  const T size = std::fabs(x);
  const bool subnormal = size < std::numeric_limits<T>::min();
  const T scaled = select(subnormal, x * T(Bits(1) << digits), x);
  const Bits bits = std::bit_cast<Bits>(scaled);
  const Bits half = std::bit_cast<Bits>(T(0.5));
  const bool number = (size > T(0)) & (size < std::numeric_limits<T>::infinity());
  const T mantissa = std::bit_cast<T>((bits & ~exponents) | half);
  const T exponent = T(int32_t((bits & exponents) >> digits) - int32_t(half >> digits));
  return {select(number, mantissa, x), select(number, exponent - select(subnormal, T(digits), T(0)), T(0))};
}
template <class T> MT_INLINE T nan_to_num(T x, const T* p) {
  if constexpr (is_complex_v<T>) {
    using R = typename T::value_type;
    const R parts[] = {p[0].real(), p[1].real(), p[2].real()};
    return T(nan_to_num(x.real(), parts), nan_to_num(x.imag(), parts));
  } else {
    const T finite = select(is_inf(x), select(x > T(0), p[1], p[2]), x);
    return select(is_nan(x), p[0], finite);
  }
}
// a + weight * (b - a), from the nearer end, so that weight 1 gives b itself.
template <class T> MT_INLINE T interpolate(T a, T b, T weight) {
  if constexpr (is_complex_v<T>) {  // chosen part by part, for vectors
    using R = typename T::value_type;
    const bool near = weight.real() * weight.real() + weight.imag() * weight.imag() < R(0.25);
    const T start(select(near, a.real(), b.real()), select(near, a.imag(), b.imag()));
    return start + mul(T(weight.real() - select(near, R(0), R(1)), weight.imag()), b - a);
  } else {
    const bool near = std::fabs(weight) < T(0.5);
    return select(near, a, b) + (weight - select(near, T(0), T(1))) * (b - a);
  }
}
template <class T> MT_INLINE T sinc(T x) {
  const T turn = x * T(3.14159265358979323846);
  return x == T(0) ? T(1) : std::sin(turn) / turn;
}
template <class T> MT_INLINE T sinc_usual(T x) {
  const T turn = x * T(3.14159265358979323846), none = select(x == T(0), T(1), T(0));
  return none + sin_usual(turn) / (turn + none);
}
template <class T> MT_INLINE T x_log_y(T x, T y) {
  const T product = mul(x, math::log(y));
  return select(is_nan(y), y, select(x == T(0), T(0), product));
}
// -x log(x), 0 of nothing; what is negative has none.
template <class T> MT_INLINE T entropy(T x) {
  const T none = select(x < T(0), -std::numeric_limits<T>::infinity(), x);  // 0 and NaN stay
  return select(x > T(0), -x * math::log(x), none);
}
// The larger one and what the smaller one adds to it; equal infinities have no difference.
template <class T> MT_INLINE T log_add_exp(T a, T b) {
  const T rest = log1p(exp(-absolute(a - b)));
  return select((a == b) & is_inf(a), a, maximum(a, b) + rest);
}
template <class T> MT_INLINE T log_add_exp2(T a, T b) {
  const T rest = log1p(exp2(-absolute(a - b))) * T(1.4426950408889634);
  // Without a branch, so that the sum is rounded alike in vectors and behind them.
  return select((a == b) & is_inf(a), a, maximum(a, b) + rest);
}
// A negative margin means none: what is outside [0, 1] is NaN then.
// 1 or 0, by selects.
template <class T> MT_INLINE T is_close(T a, T b, const T* p) {
  const T error = std::fabs(a - b), within = p[1] + std::fabs(p[0] * b);
  const T near = select((error < std::numeric_limits<T>::infinity()) & (error <= within), T(1), T(0));
  return select(is_nan(a) & is_nan(b), select(p[2] != T(0), T(1), T(0)), select(a == b, T(1), near));
}
template <class T> MT_INLINE T logit(T x, T margin) {
  const T low = margin, high = T(1) - margin;
  const T within = select(x < low, low, select(x > high, high, x));
  const T inside = select(margin < T(0), x, within);
  return log(inside / (T(1) - inside));
}

// The neighbour towards b: as integers, floats of one sign count up with the magnitude.
template <class T> MT_INLINE T next_after(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const Bits bits = std::bit_cast<Bits>(a);
  const Bits step = bits + ((b > a) == (a > T(0)) ? Bits(1) : Bits(-1));
  const T least = copy_sign(std::numeric_limits<T>::denorm_min(), b);
  const T next = select(a == T(0), least, std::bit_cast<T>(step));
  return select(a == b, b, select(is_nan(a) | is_nan(b), a + b, next));
}
// The neighbour of a half type towards b; its bits count up with the magnitude.
template <class H> MT_INLINE float next_half(float a, float b) {
  if (a == b || is_nan(a) || is_nan(b)) return is_nan(a) ? a : b;
  H next = a;
  if (a == 0) next.bits = b > 0 ? 1 : 0x8001;
  else next.bits = uint16_t((b > a) == (a > 0) ? next.bits + 1 : next.bits - 1);
  return float(next);
}

template <class T> MT_INLINE T greatest_divisor(T a, T b) {
  while (a != 0) {
    const T rest = a == T(-1) ? T(0) : T(b % a);
    b = a;
    a = rest;
  }
  return absolute(b);
}
template <class T> MT_INLINE T least_multiple(T a, T b) {
  const T divisor = greatest_divisor(a, b);
  return divisor == 0 ? T(0) : absolute(mul(truncating_divide(a, divisor), b));
}
// Shifts by more bits than there are (or fewer than none) move everything out. Without branches, for vectors; bytes, which
// no processor shifts by different counts, by one, two and four bits where the count has them.
// A step knows its bits when it is compiled: for vectors of others the compiler widens.
template <int bits> using Bits = std::integral_constant<int, bits>;
template <class Step> MT_INLINE uint8_t shift_by_steps(uint8_t x, uint8_t count, Step step) {
  x = count & 1 ? step(x, Bits<1>()) : x;
  x = count & 2 ? step(x, Bits<2>()) : x;
  x = count & 4 ? step(x, Bits<4>()) : x;
  return count < 8 ? x : uint8_t(0);
}
template <class T> MT_INLINE T shift_left(T a, T b) {
  if constexpr (sizeof(T) == 1) {
    return T(shift_by_steps(uint8_t(a), uint8_t(b), [](uint8_t x, auto n) { return uint8_t(x << n.value); }));
  } else {
    constexpr wrapping_t<T> width = 8 * sizeof(T);
    const auto count = wrapping_t<T>(b);
    const T moved = T(wrapping_t<T>(a) << (count & (width - 1)));
    return count < width ? moved : T(0);
  }
}
template <class T> MT_INLINE T shift_right(T a, T b) {
  constexpr wrapping_t<T> width = 8 * sizeof(T);
  const T sign = std::is_signed_v<T> ? T(a >> (width - 1)) : T(0);
  if constexpr (sizeof(T) == 1) {  // what differs from the sign is moved
    const uint8_t moved = shift_by_steps(uint8_t(a ^ sign), uint8_t(b), [](uint8_t x, auto n) {
      return uint8_t((x >> n.value) & (0xff >> n.value));
    });
    return T(moved ^ uint8_t(sign));
  } else {
    const auto count = wrapping_t<T>(b);
    const T moved = T(a >> (count & (width - 1)));
    return count < width ? moved : sign;
  }
}

#undef MT_INLINE

}  // namespace mt::kernels::math
