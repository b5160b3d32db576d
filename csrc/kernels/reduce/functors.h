// Every reduction, one line each. Included by elementwise/functors.h, which explains the notation.
#pragma once

#include "kernels/elementwise/functors.h"

namespace mt::kernels {

// What a reduction accumulates in, by element type:
//   wide:    double for all real floating types, complex128, int64 — sums keep the digits float has; a few
//            terms at a time are added up in float first, see Note [Short sums]
//   product: int64 for integers, otherwise the compute type
//   same:    the compute type
//   truth:   bool
//   real:    double, also for complex elements (norms)
enum class Accumulate { wide, product, same, truth, real };

template <class T, Accumulate kind>
constexpr auto accumulator_of() {
  using C = compute_t<T>;
  if constexpr (kind == Accumulate::truth) return bool{};
  else if constexpr (kind == Accumulate::real) return double{};
  else if constexpr (kind == Accumulate::same) return C{};
  else if constexpr (std::is_integral_v<C>) return int64_t{};
  else if constexpr (kind == Accumulate::product) return C{};
  else if constexpr (is_complex_v<C>) return complex128{};
  else return double{};
}

template <class A> constexpr A lowest_value() {
  if constexpr (std::is_floating_point_v<A>) return -std::numeric_limits<A>::infinity();
  else return std::numeric_limits<A>::lowest();
}
template <class A> constexpr A highest_value() {
  if constexpr (std::is_floating_point_v<A>) return std::numeric_limits<A>::infinity();
  else return std::numeric_limits<A>::max();
}

// IDENTITY, COMBINE (of a and b) and FINISH (of a and the element count) are in terms of the accumulator type
// A. EMPTY says whether reducing no elements has a meaning.
#define MT_REDUCE(NAME, DOMAIN, KIND, EMPTY, IDENTITY, COMBINE, FINISH)                                \
  struct NAME {                                                                                        \
    MT_FUNCTOR_HEAD(NAME, 0, DOMAIN)                                                                   \
    static constexpr Accumulate kind = Accumulate::KIND;                                               \
    static constexpr bool empty_allowed = EMPTY;                                                       \
    template <class T> using accumulator = decltype(accumulator_of<T, Accumulate::KIND>());            \
    template <class A> static A identity() { return A(IDENTITY); }                                     \
    template <class A> [[gnu::always_inline]] static inline A combine(A a, A b) { return A(COMBINE); } \
    template <class A> static A finish(A a, [[maybe_unused]] int64_t count) { return A(FINISH); }      \
  };

// The same with LOAD: what an element x contributes, as an expression whose value is cast to A.
#define MT_REDUCE_OF(NAME, DOMAIN, KIND, EMPTY, LOAD, IDENTITY, COMBINE, FINISH)                           \
  struct NAME {                                                                                            \
    MT_FUNCTOR_HEAD(NAME, 0, DOMAIN)                                                                       \
    static constexpr Accumulate kind = Accumulate::KIND;                                                   \
    static constexpr bool empty_allowed = EMPTY;                                                           \
    template <class T> using accumulator = decltype(accumulator_of<T, Accumulate::KIND>());                \
    template <class A, class T> [[gnu::always_inline]] static inline A load(T x) { return cast<A>(LOAD); } \
    template <class A> static A identity() { return A(IDENTITY); }                                         \
    template <class A> [[gnu::always_inline]] static inline A combine(A a, A b) { return A(COMBINE); }     \
    template <class A> static A finish(A a, [[maybe_unused]] int64_t count) { return A(FINISH); }          \
  };

// What a norm sees of an element: in double, or in float where that is what is added up.
template <class A, class T> [[gnu::always_inline]] inline A magnitude(T x) {
  if constexpr (is_complex_v<T>) return A(std::hypot(double(x.real()), double(x.imag())));
  else return A(std::fabs(A(x)));
}
template <class A, class T> [[gnu::always_inline]] inline A squared_magnitude(T x) {
  if constexpr (is_complex_v<T>) return A(x.real()) * A(x.real()) + A(x.imag()) * A(x.imag());
  else return A(x) * A(x);
}

MT_REDUCE(sum_op, any, wide, true, A(0), math::add(a, b), a)
MT_REDUCE(mean_op, inexact, wide, true, A(0), math::add(a, b), a / A(double(count)))
MT_REDUCE(prod_op, any, product, true, A(1), math::mul(a, b), a)
MT_REDUCE(amax_op, ordered, same, false, lowest_value<A>(), math::maximum(a, b), a)
MT_REDUCE(amin_op, ordered, same, false, highest_value<A>(), math::minimum(a, b), a)
MT_REDUCE(any_op, any, truth, true, false, a | b, a)
MT_REDUCE(all_op, any, truth, true, true, a& b, a)
MT_REDUCE(xor_op, integral, wide, true, A(0), a ^ b, a)
// Reductions to the largest (1) or the smallest (-1).
template <class Op> inline constexpr int extreme_kind = 0;
template <> inline constexpr int extreme_kind<amax_op> = 1;
template <> inline constexpr int extreme_kind<amin_op> = -1;

MT_REDUCE_OF(nansum_op, ordered, wide, true, math::is_nan(x) ? T(0) : x, A(0), math::add(a, b), a)
MT_REDUCE_OF(norm_zero_op, inexact, real, true, x != T(0) ? 1.0 : 0.0, 0, a + b, a)
MT_REDUCE_OF(norm_one_op, inexact, real, true, magnitude<A>(x), 0, a + b, a)
MT_REDUCE_OF(norm_two_op, inexact, real, true, squared_magnitude<A>(x), 0, a + b, std::sqrt(a))
MT_REDUCE_OF(norm_max_op, inexact, real, true, magnitude<A>(x), 0, math::maximum(a, b), a)
MT_REDUCE_OF(norm_min_op, inexact, real, false, magnitude<A>(x), highest_value<A>(), math::minimum(a, b), a)

// Reductions whose terms, of floats, may be added up in float first, as long as the sum comes out within these bounds:
// outside, squares may have been too large or too small for a float. See Note [Short sums].
struct ShortRange {
  double least, most;
};
template <class Op> inline constexpr ShortRange short_range = {0, 0};
template <> inline constexpr ShortRange short_range<norm_one_op> = {-1, 1e38};
template <> inline constexpr ShortRange short_range<norm_two_op> = {1e-20, 1e38};

}  // namespace mt::kernels
