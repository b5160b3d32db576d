// Limits of the floating dtypes.
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

}  // namespace mt
