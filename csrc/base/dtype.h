// Element types: their C++ types, sizes, names and categories.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "base/float8.h"
#include "base/half.h"

namespace mt {

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

// A complex number of two halves, for storage and casts.
struct ComplexHalf {
  Half re, im;
  ComplexHalf() = default;
  ComplexHalf(Half real, Half imaginary) : re(real), im(imaginary) {}
  explicit ComplexHalf(complex64 value) : re(value.real()), im(value.imag()) {}
  explicit operator complex64() const { return {float(re), float(im)}; }
};

// name, C++ type, PyTorch's legacy name (used in its error messages)
#define MT_FORALL_DTYPES(X)                                  \
  X(uint8, uint8_t, "Byte")                                  \
  X(int8, int8_t, "Char")                                    \
  X(int16, int16_t, "Short")                                 \
  X(int32, int32_t, "Int")                                   \
  X(int64, int64_t, "Long")                                  \
  X(float16, ::mt::Half, "Half")                             \
  X(float32, float, "Float")                                 \
  X(float64, double, "Double")                               \
  X(complex64, ::mt::complex64, "ComplexFloat")              \
  X(complex128, ::mt::complex128, "ComplexDouble")           \
  X(boolean, bool, "Bool")                                   \
  X(bfloat16, ::mt::BFloat16, "BFloat16")                    \
  X(uint16, uint16_t, "UInt16")                              \
  X(uint32, uint32_t, "UInt32")                              \
  X(uint64, uint64_t, "UInt64")                              \
  X(float8_e4m3fn, ::mt::Float8E4M3, "Float8_e4m3fn")        \
  X(float8_e5m2, ::mt::Float8E5M2, "Float8_e5m2")            \
  X(float8_e4m3fnuz, ::mt::Float8E4M3Nuz, "Float8_e4m3fnuz") \
  X(float8_e5m2fnuz, ::mt::Float8E5M2Nuz, "Float8_e5m2fnuz") \
  X(float8_e8m0fnu, ::mt::Float8E8M0, "Float8_e8m0fnu")      \
  X(complex32, ::mt::ComplexHalf, "ComplexHalf")

enum class DType : uint8_t {
#define X(name, type, legacy) name,
  MT_FORALL_DTYPES(X)
#undef X
      count_
};
inline constexpr int kDTypeCount = int(DType::count_);

template <DType> struct dtype_to_type;
template <class T> struct type_to_dtype;
#define X(name, type, legacy)                     \
  template <> struct dtype_to_type<DType::name> { \
    using type_ = type;                           \
  };                                              \
  template <> struct type_to_dtype<type> {        \
    static constexpr DType value = DType::name;   \
  };
MT_FORALL_DTYPES(X)
#undef X
template <class T> inline constexpr DType dtype_of = type_to_dtype<T>::value;

enum class Category : uint8_t { boolean, integral, floating, complex };

struct DTypeInfo {
  const char* name;    // "float32"
  const char* legacy;  // "Float"
  uint8_t itemsize;
  Category category;
  bool is_signed;
};

extern const DTypeInfo kDTypeInfo[kDTypeCount];

inline const DTypeInfo& info(DType t) { return kDTypeInfo[int(t)]; }
inline constexpr uint8_t kItemSize[kDTypeCount] = {
#define X(name, type, legacy) sizeof(type),
    MT_FORALL_DTYPES(X)
#undef X
};
inline constexpr size_t itemsize(DType t) { return kItemSize[int(t)]; }
const char* c_name(DType t);  // "unsigned char", for messages
inline Category category(DType t) { return info(t).category; }
inline bool is_floating(DType t) { return category(t) == Category::floating; }
inline bool is_complex(DType t) { return category(t) == Category::complex; }
inline bool is_integral(DType t, bool include_bool) {
  return category(t) == Category::integral || (include_bool && t == DType::boolean);
}
inline bool is_float8(DType t) { return is_floating(t) && itemsize(t) == 1; }
inline bool is_differentiable(DType t) { return is_floating(t) || is_complex(t); }

// The type of a complex type's parts (other types: themselves), and the complex type with room for a type.
inline DType real_type(DType t) {
  switch (t) {
    case DType::complex32: return DType::float16;
    case DType::complex64: return DType::float32;
    case DType::complex128: return DType::float64;
    default: return t;
  }
}
inline DType complex_type(DType t) {
  if (t == DType::float64 || t == DType::complex128) return DType::complex128;
  return t == DType::float16 || t == DType::complex32 ? DType::complex32 : DType::complex64;
}

// The type two operands of equal priority meet in (torch.promote_types).
DType promote(DType a, DType b);
// Whether a result of type `from` may be written to a tensor of type `to` (torch.can_cast).
bool can_cast(DType from, DType to);

}  // namespace mt
