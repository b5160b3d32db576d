// Matrix products on the calling thread, for kernels that split their work themselves.
#pragma once

#include <algorithm>

#include "kernels/matmul/pack.h"
#include "kernels/matmul/product_tiles.h"

namespace mt::kernels {

// A matrix of any strides.
template <class T>
struct Strided {
  const T* data;
  int64_t row_stride, step;
};

// The columns of `n` that whole registers take.
template <class T>
int64_t padded(int64_t n) {
  const int64_t lanes = product_tiles<T>().narrow;
  return (n + lanes - 1) / lanes * lanes;
}

// c[rows, n] = alpha * a[rows, length] @ b[length, n] + beta * c. Rows of b and c are read and written up to column
// padded(n): they must have that room, and what lies in it afterwards has no meaning.
template <class T>
void multiply(Strided<T> a, int64_t rows, const T* b, int64_t b_leading, int64_t length, int64_t n, T alpha,
              T beta, T* c, int64_t c_leading) {
  constexpr int64_t kChunk = 64;
  const ProductTiles<T>& tiles = product_tiles<T>();
  const bool packed = a.step != 1;
  if (packed && length > kChunk) {
    for (int64_t first = 0; first < length; first += kChunk) {
      const int64_t part = std::min(kChunk, length - first);
      multiply({a.data + first * a.step, a.row_stride, a.step}, rows, b + first * b_leading, b_leading, part,
               n, alpha, first == 0 ? beta : T(1), c, c_leading);
    }
    return;
  }
  const auto tile = [&](const T* left, int choice, int64_t vectors, int64_t row, int64_t first) {
    tiles.block[packed][choice][vectors - 1](left, a.row_stride, b + first, b_leading, length, b + first, 0,
                                             alpha, beta, c + row * c_leading + first, c_leading);
  };
  if (!packed) {  // a stripe of b stays in the first cache while all rows pass
    for (int64_t first = 0, vectors; first < n; first += vectors * tiles.narrow) {
      vectors = tiles.vectors(n - first);
      for (int64_t row = 0, choice; row < rows; row += ProductTiles<T>::kRowChoices[choice]) {
        choice = tiles.choice(rows - row);
        tile(a.data + row * a.row_stride, int(choice), vectors, row, first);
      }
    }
    return;
  }
  T lines[8 * kChunk];
  for (int64_t row = 0, count; row < rows; row += count) {
    const int choice = tiles.choice(rows - row);
    count = ProductTiles<T>::kRowChoices[choice];
    pack_panel(a.data + row * a.row_stride, a.row_stride, a.step, count, length, lines, count);
    for (int64_t first = 0, vectors; first < n; first += vectors * tiles.narrow) {
      vectors = tiles.vectors(n - first);
      tile(lines, choice, vectors, row, first);
    }
  }
}

}  // namespace mt::kernels
