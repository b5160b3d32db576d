// What a kernel sees of a tensor: host-addressable memory, an element type, sizes and strides.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/scalar.h"

namespace mt::kernels {

struct View {
  void* data;              // address of element [0, 0, …]
  const int64_t* sizes;    // not owned
  const int64_t* strides;  // in elements, not owned; may be 0 or negative
  int ndim;
  DType dtype;
  // The number of elements where whoever made the view knows that they lie one after the other in row-major order:
  // most calls are decided by it, without a look at sizes and strides. -1: not known.
  int64_t dense = -1;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }

  int64_t numel() const {
    int64_t n = 1;
    for (int i = 0; i < ndim; ++i) n *= sizes[i];
    return n;
  }
};

}  // namespace mt::kernels
