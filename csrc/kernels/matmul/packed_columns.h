// The right factor of many products: packed once into the panels that tiles read from front to back.
#pragma once

#include <algorithm>

#include "kernels/matmul/pack.h"
#include "kernels/matmul/product_tiles.h"

namespace mt::kernels {

template <class T>
class PackedColumns {
 public:
  // The elements that `memory` must have room for.
  static int64_t room(int64_t depth, int64_t columns) { return depth * padded(columns); }

  // Element [i, j] of the factor, i < depth and j < columns, is data[i * row_stride + j * column_stride].
  PackedColumns(const T* data, int64_t row_stride, int64_t column_stride, int64_t depth, int64_t columns,
                T* memory)
      : data_(memory), depth_(depth), columns_(columns) {
    T* to = memory;
    for (int64_t first = 0; first < depth; first += kSlice) {
      const int64_t length = std::min(kSlice, depth - first);
      for_panels([&](int64_t column, int64_t count, int64_t width) {
        pack_panel(data + first * row_stride + column * column_stride, column_stride, row_stride, count,
                   length, to, width);
        to += width * length;
      });
    }
  }

  // c[rows, columns] = a[rows, depth] @ factor + beta * c, on the calling thread. With beta == 0, c is not read.
  void multiply(const T* a, int64_t a_stride, int64_t rows, T beta, T* c, int64_t c_stride) const {
    const T* panel = data_;
    for (int64_t first = 0; first < depth_; first += kSlice) {
      const int64_t length = std::min(kSlice, depth_ - first);
      for_panels([&](int64_t column, int64_t count, int64_t width) {
        for (int64_t row = 0; row < rows;) {
          const int choice = tiles_.choice(rows - row);
          const auto tile = tiles_.block[0][choice][width / tiles_.narrow - 1];
          const int64_t height = ProductTiles<T>::kRowChoices[choice];
          const T* left = a + row * a_stride + first;
          const T* next = panel + width * length;  // fetched meanwhile: a share of it by each tile
          const int64_t fetch = (width * height + rows - 1) / rows;
          T* to = c + row * c_stride + column;
          if (count == width) {
            tile(left, a_stride, panel, width, length, next + row / height * fetch * length, fetch, T(1),
                 beta, to, c_stride);
          } else {  // the padding must not reach c
            T edge[kHighest * kWidest];
            tile(left, a_stride, panel, width, length, panel, 0, T(1), T(0), edge, width);
            for (int64_t r = 0; r < height; ++r) {
              for (int64_t j = 0; j < count; ++j) {
                T& target = to[r * c_stride + j];
                target = edge[r * width + j] + (beta == T(0) ? T(0) : beta * target);
              }
            }
          }
          row += height;
        }
        panel += width * length;
      });
      beta = T(1);
    }
  }

 private:
  static constexpr int64_t kSlice = 256;  // so deep a panel stays in the first cache while rows pass
  static constexpr int64_t kHighest = ProductTiles<T>::kRowChoices[0];
  static constexpr int64_t kWidest = 3 * 64 / int64_t(sizeof(T));

  static int64_t padded(int64_t columns) {
    const int64_t lanes = product_tiles<T>().narrow;
    return (columns + lanes - 1) / lanes * lanes;
  }
  // f(first column, columns, columns with padding)
  template <class F>
  void for_panels(F&& f) const {
    for (int64_t column = 0, width; column < columns_; column += width) {
      width = tiles_.vectors(columns_ - column) * tiles_.narrow;
      f(column, std::min(width, columns_ - column), width);
    }
  }

  const ProductTiles<T>& tiles_ = product_tiles<T>();
  const T* data_;
  int64_t depth_, columns_;
};

}  // namespace mt::kernels
