// The two parts of complex numbers as views of real ones.
#pragma once

#include <vector>

#include "kernels/common/view.h"

namespace mt::kernels {

// The real numbers of a complex view: its real parts (0) or its imaginary parts (1). `strides` holds the result's
// strides and must outlive it.
inline View part_of(const View& complex, int part, std::vector<int64_t>& strides) {
  strides.assign(complex.strides, complex.strides + complex.ndim);
  for (int64_t& stride : strides) stride *= 2;
  const DType dtype = real_type(complex.dtype);
  return {complex.as<char>() + size_t(part) * itemsize(dtype), complex.sizes, strides.data(), complex.ndim,
          dtype};
}

}  // namespace mt::kernels
