// Rows of a matrix in the order in which the tiles of a product read them.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/matmul/product_tiles.h"

namespace mt::kernels {

// Memory that is not cleared.
template <class T>
std::unique_ptr<T[]> block_of(int64_t n) {
  return std::unique_ptr<T[]>(new T[size_t(std::max<int64_t>(n, 1))]);
}

// Rows of a matrix cut into blocks of 8, 4, 2 and 1, each block stored [length, rows].
template <class T>
class PackedRows {
 public:
  // element(row, i)
  template <class F>
  PackedRows(const ProductTiles<T>& tiles, int64_t rows, int64_t length, F&& element)
      : tiles_(tiles), length_(length), data_(block_of<T>(rows * length)) {
    for (int64_t row = 0; row < rows;) {
      const int choice = tiles.choice(rows - row);
      blocks_.push_back({row, choice});
      const int count = ProductTiles<T>::kRowChoices[choice];
      T* to = data_.get() + row * length;
      for (int64_t i = 0; i < length; ++i) {
        for (int r = 0; r < count; ++r) *to++ = element(row + r, i);
      }
      row += count;
    }
  }

  // f(first row, rows, tile): the product of each block with the columns at `b`. `tiles` has room for all rows. What the
  // blocks read of the columns stays in the first cache: a part of their length for all, then the next.
  template <class F>
  void multiply(const T* b, const int64_t* offsets, T* tiles, F&& f) const {
    constexpr int64_t together = 1024 / int64_t(sizeof(T));
    for (int64_t first = 0; first == 0 || first < length_; first += together) {
      const int64_t count = std::min(together, length_ - first);
      for (const Block& block : blocks_) {
        const T* rows =
            data_.get() + block.row * length_ + first * ProductTiles<T>::kRowChoices[block.choice];
        tiles_.product[block.choice](rows, b, offsets + first, count, tiles + block.row * tiles_.columns,
                                     first > 0);
      }
    }
    for (const Block& block : blocks_)
      f(block.row, ProductTiles<T>::kRowChoices[block.choice], tiles + block.row * tiles_.columns);
  }

 private:
  struct Block {
    int64_t row;
    int choice;
  };
  const ProductTiles<T>& tiles_;
  int64_t length_;
  std::unique_ptr<T[]> data_;
  std::vector<Block> blocks_;
};

}  // namespace mt::kernels
