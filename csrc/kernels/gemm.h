// The product of two matrices of any strides, in float and double, on register tiles and packed panels.
#pragma once

#include <cstdint>

namespace mt::kernels {

// A matrix of any strides, in elements.
template <class T>
struct Operand {
  T* data;
  int64_t row_stride, column_stride;
  Operand transposed() const { return {data, column_stride, row_stride}; }
  T* at(int64_t row, int64_t column) const { return data + row * row_stride + column * column_stride; }
};

// c[m, n] = alpha * a[m, k] @ b[k, n] + beta * c. With beta == 0, c is not read.
template <class T>
void packed_product(int64_t m, int64_t n, int64_t k, T alpha, Operand<const T> a, Operand<const T> b, T beta,
                    Operand<T> c);
// Whether packing pays for a product of this size; see Note [Packed products].
bool worth_packing(int64_t m, int64_t n, int64_t k);

}  // namespace mt::kernels
