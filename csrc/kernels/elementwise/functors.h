// Every elementwise operation, one line each; activations, reductions and special functions are in their areas' folders.
//
// A functor is a type with a name (for errors), a domain (the dtypes it accepts), the number of its scalar
// parameters, and a template over the compute type (half types compute in float). In the expressions below, x
// or a and b are the operands, p[0], p[1], … the parameters converted to the compute type T. A new operator
// is a new line here and a row in ops/.
#pragma once

#include "kernels/common/arithmetic.h"
#include "kernels/common/packs.h"
#include "kernels/common/types.h"
#include "kernels/common/vector_math.h"
#include "kernels/common/vector_remainder.h"
#include "kernels/complex/complex_math.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/special/erf_gamma.h"

namespace mt::kernels {

#define MT_FUNCTOR_HEAD(NAME, PARAMETERS, DOMAIN) \
  static constexpr const char* name = #NAME;      \
  static constexpr int parameters = PARAMETERS;   \
  static constexpr DTypeSet domain = domains::DOMAIN;

#define MT_UNARY_PARAMS(NAME, PARAMETERS, DOMAIN, ...)                               \
  struct NAME {                                                                      \
    MT_FUNCTOR_HEAD(NAME, PARAMETERS, DOMAIN)                                        \
    template <class T>                                                               \
    [[gnu::always_inline]] static inline T apply(T x, [[maybe_unused]] const T* p) { \
      return T(__VA_ARGS__);                                                         \
    }                                                                                \
  };
#define MT_UNARY(NAME, DOMAIN, ...) MT_UNARY_PARAMS(NAME, 0, DOMAIN, __VA_ARGS__)

// An expression that packs (common/packs.h) understand too, and are faster at.
#if defined(__aarch64__)
#define MT_UNARY_PACKED(NAME, PARAMETERS, DOMAIN, ...)                                            \
  struct NAME {                                                                                   \
    MT_FUNCTOR_HEAD(NAME, PARAMETERS, DOMAIN)                                                     \
    template <class T>                                                                            \
    [[gnu::always_inline]] static inline T apply(T x, [[maybe_unused]] const T* p) {              \
      return T(__VA_ARGS__);                                                                      \
    }                                                                                             \
    template <class T>                                                                            \
      requires kPacked<T>                                                                         \
    [[gnu::always_inline]] static inline void run(T* out, const T* a, int64_t n, const T* each) { \
      Pack<T> p[PARAMETERS];                                                                      \
      for (int i = 0; i < PARAMETERS; ++i) p[i] = Pack<T>::of(each[i]);                           \
      for_each_pack(out, a, n, [&p](Pack<T> x) { return __VA_ARGS__; });                          \
    }                                                                                             \
  };
#elif defined(MT_DEVICE_CODE)
#define MT_UNARY_PACKED MT_UNARY_PARAMS
#else
// Elsewhere a pack is one element, and a parameter a number: compared this way round, a NaN of x stays, which is what
// the processor's instruction does, and loops become vectors of it. Where a parameter is NaN, the plain way.
template <class T> struct Bounded {
  T v;
};
namespace math {
template <class T>
[[gnu::always_inline]] inline Bounded<T> maximum(Bounded<T> x, Bounded<T> bound) {
  return {bound.v > x.v ? bound.v : x.v};
}
template <class T>
[[gnu::always_inline]] inline Bounded<T> minimum(Bounded<T> x, Bounded<T> bound) {
  return {bound.v < x.v ? bound.v : x.v};
}
}  // namespace math
#define MT_UNARY_PACKED(NAME, PARAMETERS, DOMAIN, ...)                                            \
  struct NAME {                                                                                   \
    MT_FUNCTOR_HEAD(NAME, PARAMETERS, DOMAIN)                                                     \
    template <class T>                                                                            \
    [[gnu::always_inline]] static inline T apply(T x, [[maybe_unused]] const T* p) {              \
      return T(__VA_ARGS__);                                                                      \
    }                                                                                             \
    template <class T>                                                                            \
      requires std::is_floating_point_v<T>                                                        \
    [[gnu::always_inline]] static inline void run(T* out, const T* a, int64_t n, const T* each) { \
      Bounded<T> p[PARAMETERS];                                                                   \
      bool numbers = true;                                                                        \
      for (int i = 0; i < PARAMETERS; ++i) p[i].v = each[i], numbers &= each[i] == each[i];       \
      if (!numbers) {                                                                             \
        for (int64_t i = 0; i < n; ++i) out[i] = apply(a[i], each);                               \
        return;                                                                                   \
      }                                                                                           \
      const auto bounded = [&p](Bounded<T> x) { return __VA_ARGS__; };                            \
      _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) out[i] = bounded({a[i]}).v;            \
    }                                                                                             \
  };
#endif

// USUAL is a branch-free version, for float and double, that holds where USUAL_IF does; loops use it for blocks of such
// arguments.
#define MT_UNARY_USUAL(NAME, DOMAIN, USUAL_IF, USUAL, ...)        \
  struct NAME {                                                   \
    MT_FUNCTOR_HEAD(NAME, 0, DOMAIN)                              \
    template <class T>                                            \
    [[gnu::always_inline]] static inline T apply(T x, const T*) { \
      return T(__VA_ARGS__);                                      \
    }                                                             \
    template <class T>                                            \
      requires std::is_floating_point_v<T>                        \
    [[gnu::always_inline]] static inline bool is_usual(T x) {     \
      return USUAL_IF;                                            \
    }                                                             \
    template <class T>                                            \
    [[gnu::always_inline]] static inline T apply_usual(T x) {     \
      return USUAL;                                               \
    }                                                             \
  };

// The same for two operands: USUAL, for types that USUAL_IF takes, holds where that does.
#define MT_BINARY_USUAL(NAME, DOMAIN, USUAL_IF, USUAL, ...)            \
  struct NAME {                                                        \
    MT_FUNCTOR_HEAD(NAME, 0, DOMAIN)                                   \
    template <class T>                                                 \
    [[gnu::always_inline]] static inline T apply(T a, T b, const T*) { \
      return T(__VA_ARGS__);                                           \
    }                                                                  \
    template <class T>                                                 \
      requires requires(T a, T b) { USUAL_IF; }                        \
    [[gnu::always_inline]] static inline bool is_usual(T a, T b) {     \
      return USUAL_IF;                                                 \
    }                                                                  \
    template <class T>                                                 \
    [[gnu::always_inline]] static inline T apply_usual(T a, T b) {     \
      return USUAL;                                                    \
    }                                                                  \
  };

#define MT_PREDICATE(NAME, DOMAIN, ...)                                               \
  struct NAME {                                                                       \
    MT_FUNCTOR_HEAD(NAME, 0, DOMAIN)                                                  \
    template <class T>                                                                \
    [[gnu::always_inline]] static inline bool apply([[maybe_unused]] T x, const T*) { \
      return __VA_ARGS__;                                                             \
    }                                                                                 \
  };

#define MT_BINARY_AS(RESULT, NAME, PARAMETERS, DOMAIN, ...)                                    \
  struct NAME {                                                                                \
    MT_FUNCTOR_HEAD(NAME, PARAMETERS, DOMAIN)                                                  \
    template <class T>                                                                         \
    [[gnu::always_inline]] static inline RESULT apply(T a, T b, [[maybe_unused]] const T* p) { \
      return RESULT(__VA_ARGS__);                                                              \
    }                                                                                          \
  };
#define MT_BINARY_PARAMS(NAME, PARAMETERS, DOMAIN, ...) MT_BINARY_AS(T, NAME, PARAMETERS, DOMAIN, __VA_ARGS__)
#define MT_BINARY(NAME, DOMAIN, ...) MT_BINARY_AS(T, NAME, 0, DOMAIN, __VA_ARGS__)
#define MT_COMPARE(NAME, DOMAIN, ...) MT_BINARY_AS(bool, NAME, 0, DOMAIN, __VA_ARGS__)

#define MT_TERNARY(NAME, PARAMETERS, DOMAIN, ...)                                                 \
  struct NAME {                                                                                   \
    MT_FUNCTOR_HEAD(NAME, PARAMETERS, DOMAIN)                                                     \
    template <class T>                                                                            \
    [[gnu::always_inline]] static inline T apply(T a, [[maybe_unused]] T b, [[maybe_unused]] T c, \
                                                 [[maybe_unused]] const T* p) {                   \
      return T(__VA_ARGS__);                                                                      \
    }                                                                                             \
  };

[[gnu::always_inline]] inline void negate_bools(bool* out, const bool* x, int64_t n) {
  uint8_t* to = reinterpret_cast<uint8_t*>(out);
  const uint8_t* from = reinterpret_cast<const uint8_t*>(x);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] ^ 1;
}

// ---- unary ----
// Signs are a bit of a number, also of a half, which need not become a float for it, nor to stay as it is.
#define MT_UNARY_OF_SIGN(NAME, DOMAIN, OF_BITS, ...)              \
  struct NAME {                                                   \
    MT_FUNCTOR_HEAD(NAME, 0, DOMAIN)                              \
    static constexpr bool takes_halves = true;                    \
    template <class T>                                            \
    [[gnu::always_inline]] static inline T apply(T x, const T*) { \
      if constexpr (is_half_v<T>) {                               \
        x.bits = uint16_t(OF_BITS);                               \
        return x;                                                 \
      } else {                                                    \
        return T(__VA_ARGS__);                                    \
      }                                                           \
    }                                                             \
  };
MT_UNARY_OF_SIGN(neg_op, numeric, x.bits ^ 0x8000, math::neg(x))
MT_UNARY_OF_SIGN(abs_op, any_float8, x.bits & 0x7fff, math::absolute(x))
MT_UNARY(sign_op, ordered, math::sign(x))
MT_UNARY(sgn_op, any, math::phase(x))
MT_UNARY(angle_op, inexact, math::angle(x))
MT_UNARY_OF_SIGN(conj_physical_op, any, x.bits, math::conjugate(x))
MT_UNARY(square_op, numeric, math::mul(x, x))
struct reciprocal_op {
  MT_FUNCTOR_HEAD(reciprocal_op, 0, inexact)
  template <class T>
  [[gnu::always_inline]] static inline T apply(T x, const T*) {
    return math::reciprocal(x);
  }
  template <class T>
    requires std::is_same_v<T, complex64>
  [[gnu::always_inline]] static inline bool is_usual(T x) {
    return math::has_usual_reciprocal(x);
  }
  template <class T>
  [[gnu::always_inline]] static inline T apply_usual(T x) {
    return math::reciprocal_usual(x);
  }
};
// Vectors of AVX-512 take roots of doubles no faster than shorter ones do, but multiply twice as many.
struct sqrt_op {
  MT_FUNCTOR_HEAD(sqrt_op, 0, inexact)
  template <class T>
  [[gnu::always_inline]] static inline T apply(T x, const T*) {
    return math::sqrt(x);
  }
  template <class T>
    requires std::is_same_v<T, double>
  [[gnu::always_inline]] static inline bool is_usual_in_widest(T x) {
    return math::has_usual_root(x);
  }
  template <class T>
  [[gnu::always_inline]] static inline T apply_usual(T x) {
    return math::root_usual(x);
  }
};
MT_UNARY(rsqrt_op, inexact, math::rsqrt(x))
MT_UNARY_USUAL(exp_op, inexact, math::abs(x) < T(87), math::exp_of_moderate(x), math::exp(x))
MT_UNARY(expm1_op, inexact, math::expm1(x))
MT_UNARY_USUAL(log_op, inexact, math::has_usual_log(x), math::log_usual(x), math::log(x))
MT_UNARY(log1p_op, inexact, math::log1p(x))
MT_UNARY_USUAL(sin_op, inexact, math::abs(x) < T(1e4), math::sin_usual(x), std::sin(x))
MT_UNARY_USUAL(cos_op, inexact, math::abs(x) < T(1e4), math::cos_usual(x), std::cos(x))
MT_UNARY_USUAL(tan_op, inexact, math::abs(x) < T(1e4), math::tan_usual(x), std::tan(x))
MT_UNARY(acos_op, inexact, math::acos(x))
MT_UNARY(asin_op, inexact, math::asin(x))
MT_UNARY(atan_op, inexact, math::atan(x))
MT_UNARY(sinh_op, inexact, math::sinh(x))
MT_UNARY(cosh_op, inexact, math::cosh(x))
MT_UNARY(asinh_op, inexact, math::asinh(x))
MT_UNARY(acosh_op, inexact, math::acosh(x))
MT_UNARY(atanh_op, inexact, math::atanh(x))
MT_UNARY_USUAL(sinc_op, inexact, math::abs(x) < T(3e3), math::sinc_usual(x), math::sinc(x))
struct exp2_op {
  MT_FUNCTOR_HEAD(exp2_op, 0, inexact)
  template <class T>
  [[gnu::always_inline]] static inline T apply(T x, const T*) {
    return math::exp2(x);
  }
  template <class T>
    requires std::is_same_v<T, double>
  [[gnu::always_inline]] static inline bool is_usual(T x) {
    return math::abs(x) < 1000.0;
  }
  template <class T>
  [[gnu::always_inline]] static inline T apply_usual(T x) {
    return math::exp2_of_moderate(x);
  }
};
MT_UNARY_USUAL(log2_op, inexact, math::has_usual_log(x), math::log2_usual(x), math::log2(x))
MT_UNARY_USUAL(log10_op, inexact, math::has_usual_log(x), math::log10_usual(x), math::log10(x))
MT_UNARY(deg2rad_op, floating, x* T(0.017453292519943295))
MT_UNARY(rad2deg_op, floating, x* T(57.29577951308232))
MT_UNARY(tanh_op, inexact, math::tanh(x))
MT_UNARY(sigmoid_op, inexact, math::sigmoid(x))
MT_UNARY(erf_op, floating, math::erf(x))
MT_UNARY(erfc_op, floating, math::erfc(x))
struct erfinv_op {
  MT_FUNCTOR_HEAD(erfinv_op, 0, floating)
  template <class T>
  [[gnu::always_inline]] static inline void run(T* out, const T* x, int64_t n, const T*) {
    math::invert_all<math::InverseErf>(out, x, n);
  }
  template <class T>
  static T apply(T x, const T* p) {
    run(&x, &x, 1, p);
    return x;
  }
};
MT_UNARY_USUAL(lgamma_op, floating, math::has_usual_log_gamma(x), math::log_gamma_usual(x),
               math::log_gamma(x))
MT_UNARY(digamma_op, floating, math::digamma(double(x)))
MT_UNARY(trigamma_op, floating, math::trigamma(double(x)))
MT_UNARY(relu_op, real, math::select(x < T(0), T(0), x))
MT_UNARY(floor_op, real, math::floor(x))
MT_UNARY(ceil_op, real, math::ceil(x))
MT_UNARY(round_op, real, math::round_even(x))
MT_UNARY(round_away_op, floating, std::round(x))
MT_UNARY(trunc_op, real, math::trunc(x))
MT_UNARY(frac_op, floating, x - math::trunc(x))
// p[0] is a power of ten; p[1] says whether digits before the point go (divide first) or behind it.
MT_UNARY_PARAMS(round_decimals_op, 2, floating,
                p[1] != T(0) ? math::round_even(x / p[0]) * p[0] : math::round_even(x * p[0]) / p[0])
MT_UNARY(frexp_mantissa_op, floating, math::split_exponent(x).first)
MT_UNARY(frexp_exponent_op, floating, math::split_exponent(x).second)
// p: what stands for NaN, infinity and minus infinity.
MT_UNARY_PARAMS(nan_to_num_op, 3, inexact, math::nan_to_num(x, p))
MT_UNARY_PARAMS(logit_op, 1, floating, math::logit(x, p[0]))
// Compilers make no vectors of negated bools, but of bytes.
struct bitwise_not_op {
  MT_FUNCTOR_HEAD(bitwise_not_op, 0, integral_bool)
  template <class T>
  [[gnu::always_inline]] static inline T apply(T x, const T*) {
    return std::is_same_v<T, bool> ? T(!x) : T(~int64_t(x));
  }
  template <class T>
    requires std::is_same_v<T, bool>
  [[gnu::always_inline]] static inline void run(T* out, const T* x, int64_t n, const T*) {
    negate_bools(out, x, n);
  }
};
MT_UNARY_PACKED(clamp_op, 2, real, math::minimum(math::maximum(x, p[0]), p[1]))
MT_UNARY_PACKED(clamp_min_op, 1, real, math::maximum(x, p[0]))
MT_UNARY_PACKED(clamp_max_op, 1, real, math::minimum(x, p[0]))
template <class T, class ExponentAt>
[[gnu::always_inline]] inline bool all_usual_powers(const T* x, int64_t n, ExponentAt exponent) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  Bits unusual = 0;
  for (int64_t i = 0; i < n; ++i) unusual |= Bits(!math::has_usual_power(x[i], exponent(i)));
  return !unusual;
}
// One exponent for all elements: a loop for each that has a simpler form. Roots are those of powers: of -0 it is 0, of
// minus infinity infinity.
template <class T>
[[gnu::always_inline]] inline void raise_all(T* out, const T* x, int64_t n, T exponent) {
  const auto each = [=](auto f) __attribute__((always_inline)) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = f(x[i]);
  };
  if (exponent == T(1)) return each([](T v) { return v; });
  if (exponent == T(2)) return each([](T v) { return math::mul(v, v); });
  if constexpr (!is_complex_v<T>) {
    if (exponent == T(0)) return each([](T) { return T(1); });  // of NaN, too
  }
  if constexpr (std::is_floating_point_v<T>) {
    const auto root = [](T v) {
      constexpr T infinity = std::numeric_limits<T>::infinity();
      return math::select(v == -infinity, infinity, std::sqrt(v) + T(0));
    };
    if (exponent == T(3)) return each([](T v) { return v * v * v; });
    if (exponent == T(0.5)) return each([=](T v) { return root(v); });
    if (exponent == T(-1)) return each([](T v) { return T(1) / v; });
    if (exponent == T(-0.5)) return each([=](T v) { return T(1) / root(v); });
    if (exponent == T(-2)) return each([](T v) { return T(1) / (v * v); });
  }
  if constexpr (is_complex_v<T>) {
    if (exponent == T(3)) return each([](T v) { return math::mul(math::mul(v, v), v); });
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (all_usual_powers(x, n, [exponent](int64_t) { return exponent; }))
      return each([=](T v) { return math::power_usual(v, exponent); });
    for (int64_t i = 0; i < n; ++i)
      out[i] = math::has_usual_power(x[i], exponent) ? math::power_usual(x[i], exponent)
                                                     : std::pow(x[i], exponent);
  } else {
    each([=](T v) { return math::power(v, exponent); });
  }
}
// Exponents whose powers have a form of their own above.
template <class T>
[[gnu::always_inline]] inline bool is_simple_exponent(T e) {
  return (e == T(1)) | (e == T(2)) | (e == T(3)) | (e == T(0.5)) | (e == T(-1)) | (e == T(-0.5)) |
         (e == T(-2));
}
// Where exponents differ: each as above, without branches.
template <class T>
[[gnu::always_inline]] inline T raised_usual(T x, T exponent) {
  const T root = std::sqrt(x), square = x * x;
  T result = math::power_usual(x, exponent);
  result = math::select(exponent == T(1), x, result);
  result = math::select(exponent == T(2), square, result);
  result = math::select(exponent == T(3), square * x, result);
  result = math::select(exponent == T(0.5), root, result);
  // One division for the three of them: the others divide by 1.
  T below = math::select(exponent == T(-1), x, T(1));
  below = math::select(exponent == T(-0.5), root, below);
  below = math::select(exponent == T(-2), square, below);
  return math::select(below == T(1), result, T(1) / below);
}
template <class T>
[[gnu::always_inline]] inline T raised(T x, T exponent) {
  T result;
  raise_all(&result, &x, 1, exponent);
  return result;
}
struct pow_scalar_op {
  MT_FUNCTOR_HEAD(pow_scalar_op, 1, any)
  static constexpr bool takes_blocks = true;  // cheap for most exponents, so halves have a loop for it
  template <class T>
  [[gnu::always_inline]] static inline void run(T* out, const T* x, int64_t n, const T* p) {
    raise_all(out, x, n, p[0]);
  }
  template <class T>
  [[gnu::always_inline]] static inline T apply(T x, const T* p) {
    return raised(x, p[0]);
  }
};

// ---- predicates (one operand, bool result) ----
struct logical_not_op {
  MT_FUNCTOR_HEAD(logical_not_op, 0, any)
  template <class T>
  [[gnu::always_inline]] static inline bool apply(T x, const T*) {
    return x == T(0);
  }
  template <class T>
    requires std::is_same_v<T, bool>
  [[gnu::always_inline]] static inline void run(T* out, const T* x, int64_t n, const T*) {
    negate_bools(out, x, n);
  }
};
MT_PREDICATE(isnan_op, any_float8, math::is_nan(x))
MT_PREDICATE(isinf_op, any_infinite, math::is_inf(x))
MT_PREDICATE(isfinite_op, any_infinite, !math::is_inf(x) && !math::is_nan(x))
MT_PREDICATE(isposinf_op, ordered, (x > T(0)) & math::is_inf(x))
MT_PREDICATE(isneginf_op, ordered, (x < T(0)) & math::is_inf(x))
struct isreal_op {
  MT_FUNCTOR_HEAD(isreal_op, 0, any)
  static constexpr bool takes_halves = true;
  template <class T>
  [[gnu::always_inline]] static inline bool apply(T x, const T*) {
    return math::is_real(x);
  }
};
struct signbit_op {
  MT_FUNCTOR_HEAD(signbit_op, 0, ordered)
  static constexpr bool takes_halves = true;
  template <class T>
  [[gnu::always_inline]] static inline bool apply(T x, const T*) {
    if constexpr (is_half_v<T>) return bool(x.bits >> 15);
    else return math::sign_bit(x);
  }
};

// ---- binary ----
MT_BINARY_PARAMS(add_op, 1, every, math::add(a, math::mul(p[0], b)))
MT_BINARY_PARAMS(sub_op, 1, every_numeric, math::sub(a, math::mul(p[0], b)))
MT_BINARY(mul_op, every, math::mul(a, b))
struct div_op {
  MT_FUNCTOR_HEAD(div_op, 0, numeric)
  template <class T>
  [[gnu::always_inline]] static inline T apply(T a, T b, const T*) {
    return T(math::divide(a, b));
  }
  template <class T>
    requires std::is_same_v<T, complex64>
  [[gnu::always_inline]] static inline bool is_usual(T a, T b) {
    return math::has_usual_quotient(a, b);
  }
  template <class T>
  [[gnu::always_inline]] static inline T apply_usual(T a, T b) {
    return math::divide_usual(a, b);
  }
};
struct pow_op {
  MT_FUNCTOR_HEAD(pow_op, 0, any)
  using of_number = pow_scalar_op;
  template <class T>
  [[gnu::always_inline]] static inline void run_pairs(T* out, const T* a, const T* b, int64_t n) {
    constexpr int64_t together = 256;
    for (int64_t begin = 0; begin < n; begin += together) {
      const int64_t count = std::min(together, n - begin);
      const T first = b[begin];
      unsigned others = 0;
      for (int64_t i = 0; i < count; ++i) others += unsigned(math::differ(b[begin + i], first));
      if (!others) {
        raise_all(out + begin, a + begin, count, first);
      } else {
        // As above: a result must not depend on the exponents beside it.
        if constexpr (std::is_floating_point_v<T>) {
          if (all_usual_powers(a + begin, count, [b, begin](int64_t i) { return b[begin + i]; })) {
            unsigned simple = 0;
            for (int64_t i = begin; i < begin + count; ++i) simple += unsigned(is_simple_exponent(b[i]));
            if (!simple) {
#pragma GCC ivdep
              for (int64_t i = begin; i < begin + count; ++i) out[i] = math::power_usual(a[i], b[i]);
              continue;
            }
#pragma GCC ivdep
            for (int64_t i = begin; i < begin + count; ++i) out[i] = raised_usual(a[i], b[i]);
            continue;
          }
        }
        for (int64_t i = begin; i < begin + count; ++i) out[i] = raised(a[i], b[i]);
      }
    }
  }
  template <class T>
  [[gnu::always_inline]] static inline T apply(T a, T b, const T*) {
    return raised(a, b);
  }
};
MT_BINARY(maximum_op, ordered, math::maximum(a, b))
MT_BINARY(minimum_op, ordered, math::minimum(a, b))
MT_BINARY_USUAL(remainder_op, real, math::is_usual_quotient(a, b), math::remainder_usual(a, b),
                math::remainder(a, b))
MT_BINARY_USUAL(fmod_op, real, math::is_usual_quotient(a, b), math::fmod_usual(a, b), math::fmod(a, b))
MT_BINARY_USUAL(floor_divide_op, real, math::is_usual_quotient(a, b), math::floor_divide_usual(a, b),
                math::floor_divide(a, b))
MT_BINARY_USUAL(trunc_divide_op, real, math::is_usual_quotient(a, b), math::trunc_divide_usual(a, b),
                math::trunc(math::divide(a, b)))
template <> inline constexpr bool exact_right<mul_op> = true;
template <> inline constexpr bool exact_right<div_op> = true;
template <> inline constexpr bool exact_right<floor_divide_op> = true;
template <> inline constexpr bool exact_right<trunc_divide_op> = true;
MT_BINARY_PARAMS(rsub_op, 1, every_numeric, math::sub(b, math::mul(p[0], a)))
template <> inline constexpr int operand_of_alpha<add_op> = 1;
template <> inline constexpr int operand_of_alpha<sub_op> = 1;
template <> inline constexpr int operand_of_alpha<rsub_op> = 0;
MT_BINARY_PARAMS(lerp_scalar_op, 1, inexact, math::interpolate(a, b, p[0]))
MT_BINARY_PARAMS(add_relu_op, 1, real,
                 math::select(math::add(a, math::mul(p[0], b)) < T(0), T(0), T(a + p[0] * b)))
// p: relative and absolute tolerance, and whether NaN is close to NaN. The result is 1 or 0.
MT_BINARY_PARAMS(isclose_op, 3, floating, math::is_close(a, b, p))
MT_BINARY(mul_no_nan_op, inexact, b == T(0) ? T(0) : math::mul(a, b))
MT_BINARY(fmax_op, ordered, math::select((a >= b) | math::is_nan(b), a, b))
MT_BINARY(fmin_op, ordered, math::select((a <= b) | math::is_nan(b), a, b))
struct copysign_op {
  MT_FUNCTOR_HEAD(copysign_op, 0, floating)
  static constexpr bool takes_halves = true;
  template <class T>
  [[gnu::always_inline]] static inline T apply(T a, T b, const T*) {
    if constexpr (is_half_v<T>) {
      a.bits = uint16_t((a.bits & 0x7fff) | (b.bits & 0x8000));
      return a;
    } else {
      return std::copysign(a, b);
    }
  }
};
MT_BINARY(hypot_op, floating, math::hypot(a, b))
MT_BINARY(heaviside_op, ordered, a == T(0) ? b : T(a > T(0)))
MT_BINARY(logaddexp_op, inexact, math::log_add_exp(a, b))
MT_BINARY(logaddexp2_op, floating, math::log_add_exp2(a, b))
MT_BINARY(xlogy_op, inexact, math::x_log_y(a, b))
MT_BINARY(nextafter_op, single_double, math::next_after(a, b))
MT_BINARY(nextafter_half_op, floating, math::next_half<Half>(float(a), float(b)))
MT_BINARY(nextafter_bfloat16_op, floating, math::next_half<BFloat16>(float(a), float(b)))
MT_BINARY(gcd_op, integral, math::greatest_divisor(a, b))
MT_BINARY(lcm_op, integral, math::least_multiple(a, b))
MT_BINARY(left_shift_op, integral, math::shift_left(a, b))
MT_BINARY(right_shift_op, integral, math::shift_right(a, b))
MT_BINARY(atan2_op, floating, math::atan2(a, b))
MT_BINARY(bitwise_and_op, integral_bool, (a) & (b))
MT_BINARY(bitwise_or_op, integral_bool, a | b)
MT_BINARY(bitwise_xor_op, integral_bool, a ^ b)

// Backward formulas worth one pass instead of three: a is the gradient, b the saved input or output.
MT_BINARY_PARAMS(threshold_backward_op, 1, real, math::select(b <= p[0], T(0), a))
MT_BINARY(tanh_backward_op, inexact, math::mul(a, math::conjugate(T(1) - math::mul(b, b))))
MT_BINARY(sigmoid_backward_op, inexact,
          math::mul(math::mul(a, math::conjugate(T(1) - b)), math::conjugate(b)))

// ---- three operands ----
MT_TERNARY(addcmul_op, 1, numeric, math::add(a, math::mul(p[0], math::mul(b, c))))
MT_TERNARY(addcdiv_op, 1, inexact, math::add(a, math::mul(p[0], T(b / c))))
MT_TERNARY(lerp_op, 0, inexact, math::interpolate(a, b, c))

// ---- comparisons (two operands, bool result) ----
MT_COMPARE(eq_op, every_float8, a == b)
MT_COMPARE(ne_op, every_float8, a != b)
MT_COMPARE(lt_op, every_ordered, a < b)
MT_COMPARE(le_op, every_ordered, a <= b)
MT_COMPARE(gt_op, every_ordered, a > b)
MT_COMPARE(ge_op, every_ordered, a >= b)
MT_COMPARE(logical_and_op, any, (a != T(0)) & (b != T(0)))
MT_COMPARE(logical_or_op, any, (a != T(0)) | (b != T(0)))
MT_COMPARE(logical_xor_op, any, (a != T(0)) ^ (b != T(0)))

}  // namespace mt::kernels

#include "kernels/activation/functors.h"
#include "kernels/reduce/functors.h"
#include "kernels/special/functors.h"
