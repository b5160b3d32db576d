// The product of two matrices of any strides, in float and double, on register tiles and packed panels. Half types
// multiply in float.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace mt::kernels {

// A factor: of the product's type, or of one that converts to it while it is packed.
struct Factor {
  const void* data;
  int64_t row_stride, column_stride;  // in elements
  DType dtype;
  Factor transposed() const { return {data, column_stride, row_stride, dtype}; }
  template <class T>
  const T* at(int64_t row, int64_t column) const {
    return static_cast<const T*>(data) + row * row_stride + column * column_stride;
  }
};

template <class T>
struct Result {
  T* data;
  int64_t row_stride, column_stride;
  Result transposed() const { return {data, column_stride, row_stride}; }
  T* at(int64_t row, int64_t column) const { return data + row * row_stride + column * column_stride; }
};

// c[m, n] = alpha * a[m, k] @ b[k, n] + beta * c. With beta == 0, c is not read.
template <class T>
void packed_product(int64_t m, int64_t n, int64_t k, T alpha, Factor a, Factor b, T beta, Result<T> c);
// Whether packing pays for a product of this size; see Note [Packed products].
bool worth_packing(int64_t m, int64_t n, int64_t k);

}  // namespace mt::kernels
