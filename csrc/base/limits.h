// Limits of dtypes.
#pragma once

#include <limits>

#include "base/dtype.h"

namespace mt {

// The largest finite value of a floating dtype, or of a complex one's parts.
inline double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::float16: return 65504.0;
    case DType::bfloat16: return 3.3895313892515355e38;
    case DType::float32:
    case DType::complex64: return double(std::numeric_limits<float>::max());
    default: return std::numeric_limits<double>::max();
  }
}

// One past the largest integer up to which the dtype holds every integer exactly.
inline int64_t end_of_integers(DType dtype) {
  switch (dtype) {
    case DType::boolean: return 2;
    case DType::uint8: return int64_t(1) << 8;
    case DType::int8: return int64_t(1) << 7;
    case DType::int16: return int64_t(1) << 15;
    case DType::int32: return int64_t(1) << 31;
    case DType::float16: return (int64_t(1) << 11) + 1;
    case DType::bfloat16: return (int64_t(1) << 8) + 1;
    case DType::float32: return (int64_t(1) << 24) + 1;
    case DType::float64: return (int64_t(1) << 53) + 1;
    default: return INT64_MAX;
  }
}

}  // namespace mt
