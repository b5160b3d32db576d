#include "base/dtype.h"

#include <array>

#include "base/error.h"

namespace mt {
namespace {

constexpr Category category_of(DType t) {
  switch (t) {
    case DType::boolean: return Category::boolean;
    case DType::float16:
    case DType::bfloat16:
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
    case DType::float8_e4m3fnuz:
    case DType::float8_e5m2fnuz:
    case DType::float8_e8m0fnu:
    case DType::float32:
    case DType::float64: return Category::floating;
    case DType::complex32:
    case DType::complex64:
    case DType::complex128: return Category::complex;
    default: return Category::integral;
  }
}

constexpr bool is_signed_type(DType t) {
  switch (t) {
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
    case DType::float8_e8m0fnu:
    case DType::boolean: return false;
    default: return true;
  }
}

DType promote_integral(DType a, DType b) {
  const auto &x = info(a), &y = info(b);
  if (x.is_signed == y.is_signed) return x.itemsize >= y.itemsize ? a : b;
  const DType unsigned_type = x.is_signed ? b : a, signed_type = x.is_signed ? a : b;
  if (unsigned_type == DType::uint8) return signed_type == DType::int8 ? DType::int16 : signed_type;
  fail(ErrorKind::runtime,
       "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ", info(a).legacy,
       " and ", info(b).legacy);
}

DType promote_floating(DType a, DType b) {
  if (a == b) return a;
  if (itemsize(a) == 2 && itemsize(b) == 2) return DType::float32;  // half with bfloat16
  return itemsize(a) >= itemsize(b) ? a : b;
}

}  // namespace

const DTypeInfo kDTypeInfo[kDTypeCount] = {
#define X(name, type, legacy)                                                                               \
  {DType::name == DType::boolean ? "bool" : #name, legacy, uint8_t(sizeof(type)), category_of(DType::name), \
   is_signed_type(DType::name)},
    MT_FORALL_DTYPES(X)
#undef X
};

const char* c_name(DType t) {
  static constexpr const char* names[kDTypeCount] = {"unsigned char",
                                                     "signed char",
                                                     "short",
                                                     "int",
                                                     "long int",
                                                     "c10::Half",
                                                     "float",
                                                     "double",
                                                     "c10::complex<float>",
                                                     "c10::complex<double>",
                                                     "bool",
                                                     "c10::BFloat16",
                                                     "uint16_t",
                                                     "uint32_t",
                                                     "uint64_t",
                                                     "c10::Float8_e4m3fn",
                                                     "c10::Float8_e5m2",
                                                     "c10::Float8_e4m3fnuz",
                                                     "c10::Float8_e5m2fnuz",
                                                     "c10::Float8_e8m0fnu",
                                                     "c10::complex<c10::Half>"};
  return names[int(t)];
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  MT_CHECK(!is_float8(a) && !is_float8(b),
           "Promotion for Float8 Types is not supported, attempted to promote ", info(a).legacy, " and ",
           info(b).legacy);
  const Category ca = category(a), cb = category(b);
  if (ca != cb) {
    const DType high = ca > cb ? a : b, low = ca > cb ? b : a;
    if (category(high) != Category::complex || category(low) != Category::floating) return high;
    return complex_type(promote_floating(real_type(high), low));
  }
  switch (ca) {
    case Category::integral: return promote_integral(a, b);
    case Category::floating: return promote_floating(a, b);
    default: return itemsize(a) >= itemsize(b) ? a : b;
  }
}

bool can_cast(DType from, DType to) {
  const Category cf = category(from), ct = category(to);
  if (cf == Category::complex && ct != Category::complex) return false;
  if (cf == Category::floating && (ct == Category::integral || ct == Category::boolean)) return false;
  if (cf == Category::integral && ct == Category::boolean) return false;
  return true;
}

}  // namespace mt
