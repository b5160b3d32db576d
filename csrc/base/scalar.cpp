#include "base/scalar.h"

#include <cmath>
#include <limits>

namespace mt {
namespace {

template <class T>
bool fits_integral(const Scalar& value) {
  constexpr auto low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max();
  if (value.is_integral()) {
    const int64_t v = value.to<int64_t>();
    if constexpr (std::is_unsigned_v<T>)
      return v < 0 ? uint64_t(-(v + 1)) < uint64_t(high) : uint64_t(v) <= high;
    else return v >= low && v <= high;
  }
  const double v = value.to<double>();
  if constexpr (std::is_unsigned_v<T>) return v >= -double(high) && v < double(high) + 1.0;
  else return v >= double(low) && v < -double(low);
}

bool fits_floating(const Scalar& value, double high) {
  const double v = std::abs(value.to<double>());
  return !(v > high) || std::isinf(v);
}

}  // namespace

bool fits(const Scalar& value, DType dtype) {
  if (value.is_complex()) {
    const complex128 z = value.to<complex128>();
    if (is_complex(dtype))
      return fits(Scalar(z.real()), DType::float64) && fits(Scalar(z.imag()), DType::float64);
    return z.imag() == 0 && fits(Scalar(z.real()), dtype);
  }
  switch (dtype) {
    case DType::uint8: return fits_integral<uint8_t>(value);
    case DType::int8: return fits_integral<int8_t>(value);
    case DType::int16: return fits_integral<int16_t>(value);
    case DType::int32: return fits_integral<int32_t>(value);
    case DType::int64: return fits_integral<int64_t>(value);
    case DType::uint16: return fits_integral<uint16_t>(value);
    case DType::uint32: return fits_integral<uint32_t>(value);
    case DType::uint64: return fits_integral<uint64_t>(value);
    case DType::float16: return fits_floating(value, 65504.0);
    case DType::bfloat16: return fits_floating(value, 3.3895313892515355e38);
    case DType::float32: return fits_floating(value, std::numeric_limits<float>::max());
    default: return true;
  }
}

}  // namespace mt
