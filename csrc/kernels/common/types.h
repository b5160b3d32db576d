// Element types as kernels see them: the type arithmetic happens in, sets of dtypes an operator accepts,
// value conversion, and the switch from a run-time dtype to a C++ type.
#pragma once

#include <type_traits>

#include "base/dtype.h"
#include "base/error.h"
#include "base/scalar.h"

namespace mt::kernels {

template <class T>
inline constexpr bool is_float8_v = std::is_class_v<T> && sizeof(T) == 1;

// Half types compute in float; everything else in itself.
template <class T> struct compute_of {
  using type = T;
};
template <> struct compute_of<Half> {
  using type = float;
};
template <> struct compute_of<BFloat16> {
  using type = float;
};
template <> struct compute_of<ComplexHalf> {
  using type = complex64;
};
template <class T>
  requires is_float8_v<T>
struct compute_of<T> {
  using type = float;
};
template <class T> using compute_t = typename compute_of<T>::type;

// The unsigned integer of a width.
template <size_t Bytes> struct unsigned_of;
template <> struct unsigned_of<1> {
  using type = uint8_t;
};
template <> struct unsigned_of<2> {
  using type = uint16_t;
};
template <> struct unsigned_of<4> {
  using type = uint32_t;
};
template <> struct unsigned_of<8> {
  using type = uint64_t;
};

template <class T> inline constexpr bool is_complex_v = false;
template <class R> inline constexpr bool is_complex_v<std::complex<R>> = true;
template <class T>
inline constexpr bool is_half_v = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool is_integer_v = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// A set of dtypes as a bit mask, so that a functor can state its domain as a constant.
using DTypeSet = uint32_t;

template <class... D>
constexpr DTypeSet dtype_set(D... dtypes) {
  return (0u | ... | (1u << int(dtypes)));
}
constexpr bool contains(DTypeSet set, DType t) { return (set >> int(t)) & 1u; }

namespace domains {
inline constexpr DTypeSet boolean = dtype_set(DType::boolean);
inline constexpr DTypeSet integral =
    dtype_set(DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64);
inline constexpr DTypeSet wide_unsigned = dtype_set(DType::uint16, DType::uint32, DType::uint64);
inline constexpr DTypeSet floating =
    dtype_set(DType::float16, DType::bfloat16, DType::float32, DType::float64);
inline constexpr DTypeSet single_double = dtype_set(DType::float32, DType::float64);
inline constexpr DTypeSet complex = dtype_set(DType::complex64, DType::complex128);
inline constexpr DTypeSet integral_bool = integral | boolean;
inline constexpr DTypeSet inexact = floating | complex;
inline constexpr DTypeSet numeric = integral | inexact;  // no bool
inline constexpr DTypeSet any = numeric | boolean;
inline constexpr DTypeSet every = any | wide_unsigned;  // also uint16/32/64
inline constexpr DTypeSet float8 = dtype_set(DType::float8_e4m3fn, DType::float8_e5m2, DType::float8_e4m3fnuz,
                                             DType::float8_e5m2fnuz, DType::float8_e8m0fnu);
inline constexpr DTypeSet any_float8 = any | float8;  // what few operators have of the narrowest types
inline constexpr DTypeSet every_float8 = every | float8;
inline constexpr DTypeSet any_infinite = any | dtype_set(DType::float8_e5m2);  // no other has an infinity
inline constexpr DTypeSet stored =
    every_float8 | dtype_set(DType::complex32);  // can be filled, copied and cast
inline constexpr DTypeSet every_numeric = numeric | wide_unsigned;
inline constexpr DTypeSet real = integral | floating;  // no bool, no complex
inline constexpr DTypeSet ordered = real | boolean;    // no complex
inline constexpr DTypeSet every_ordered = ordered | wide_unsigned;
}  // namespace domains

// C's conversions, made total: complex to real drops the imaginary part, anything non-zero is true, and
// floating point reaches narrow and unsigned integers through int64 so that negative values wrap.
template <class To, class From>
[[gnu::always_inline]] inline To cast(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (is_half_v<From> || is_float8_v<From>) {
    return cast<To>(float(v));
  } else if constexpr (std::is_same_v<From, ComplexHalf>) {
    return cast<To>(complex64(v));
  } else if constexpr (std::is_same_v<To, ComplexHalf>) {
    return ComplexHalf(cast<complex64>(v));
  } else if constexpr (is_complex_v<From> && is_complex_v<To>) {
    using R = typename To::value_type;
    return To(R(v.real()), R(v.imag()));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (is_complex_v<From>) {
    return cast<To>(v.real());
  } else if constexpr (is_complex_v<To>) {
    using R = typename To::value_type;
    return To(R(v), R(0));
  } else if constexpr (is_half_v<To> || is_float8_v<To>) {
    return To(float(v));
  } else if constexpr (std::is_floating_point_v<From> && is_integer_v<To> && !std::is_same_v<To, int32_t> &&
                       !std::is_same_v<To, int64_t>) {
    return To(int64_t(v));
  } else {
    return To(v);
  }
}

// "exp" not implemented for 'Long': the functor's name without its suffix _op.
[[noreturn]] void fail_unsupported(const char* name, DType dtype);

template <class T> struct type_tag {
  using type = T;
};

// Calls f(type_tag<T>{}) for the C++ type of `dtype`; dtypes outside Set are an error that names `name`.
template <DTypeSet Set, class F>
void dispatch(DType dtype, const char* name, F&& f) {
  switch (dtype) {
#define X(id, type, legacy)                                             \
  case DType::id:                                                       \
    if constexpr (contains(Set, DType::id)) return f(type_tag<type>{}); \
    break;
    MT_FORALL_DTYPES(X)
#undef X
    default: break;
  }
  fail_unsupported(name, dtype);
}

}  // namespace mt::kernels
