// The inner products of convolution, attention and matrix products, over tiles that stay in registers. Images are
// reached through tables of offsets, so that a padded one serves as the matrix of its patches without being unrolled.
#pragma once

#include <cstdint>

namespace mt::kernels {

template <class T>
struct ProductTiles {
  static constexpr int kChoices = 8;
  static constexpr int kRowChoices[kChoices] = {8, 7, 6, 5, 4, 3, 2, 1};
  static constexpr int kOuterRows = 6;
  static constexpr int kOuterVectors = 4;

  // c[rows, columns] = sum over i of a[i, rows] * b[offsets[i] + (0 … columns - 1)], added to c if so asked; c is dense.
  using Product = void (*)(const T* a, const T* b, const int64_t* offsets, int64_t length, T* c, bool add);
  Product product[kChoices];  // null where there are too few registers for so many rows
  int64_t columns;

  // c[r, width] += sum over p of x[offsets[r] + p] * y[p, width] for kOuterRows r; rows of y and c are `leading` apart. A
  // width is up to `most` times `narrow`. `tall` does it for twice as many rows, one time `narrow` wide.
  using Outer = void (*)(const T* x, const int64_t* offsets, const T* y, int64_t count, T* c,
                         int64_t leading);
  Outer outer[kOuterVectors], tall;
  int64_t most, narrow;

  // c[rows, columns] = alpha * (sum over i of a(row, i) * b[i * leading + (0 … columns - 1)]) + beta * c; with beta == 0,
  // c is not read. a(row, i) is a[row * row_stride + i], or a[i, rows] if packed. Meanwhile the cache is told that
  // next[i * next_step] will be wanted. Indices: packed; the choice of rows (null as above); 1, 2 or 3 times `narrow`
  // columns. Float and double only.
  using Block = void (*)(const T* a, int64_t row_stride, const T* b, int64_t leading, int64_t length,
                         const T* next, int64_t next_step, T alpha, T beta, T* c, int64_t c_leading);
  Block block[2][kChoices][3];

  // Which of the tiles is next when so many rows are left.
  int choice(int64_t rows) const {
    int which = 0;
    while (!product[which] || kRowChoices[which] > rows) ++which;
    return which;
  }
  // How many times `narrow` it is wide when so many columns are left: four are two and two, because one alone keeps
  // the machine waiting.
  int64_t vectors(int64_t columns_left) const {
    const int64_t wanted = (columns_left + narrow - 1) / narrow;
    return wanted == 4 ? 2 : wanted < 3 ? wanted : 3;
  }
};

// The tiles for this machine; float, double, uint64_t (integers wrap) and the complex types.
template <class T>
const ProductTiles<T>& product_tiles();

}  // namespace mt::kernels
