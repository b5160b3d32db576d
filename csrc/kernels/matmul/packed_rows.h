// Rows of a matrix in the order in which the tiles of a product read them.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/common/parallel.h"
#include "kernels/matmul/product_tiles.h"

namespace mt::kernels {

// Memory that is not cleared.
template <class T>
std::unique_ptr<T[]> block_of(int64_t n) {
  return std::unique_ptr<T[]>(new T[size_t(std::max<int64_t>(n, 1))]);
}

// Rows of a matrix cut into blocks of as many as a tile has, each block stored [length, rows].
template <class T>
class PackedRows {
 public:
  using Element = T;
  using Sum = T;
  using Tiles = ProductTiles<T>;
  static constexpr int64_t kStack = 1;  // elements of a row that are multiplied at once
  static int64_t columns(const Tiles& tiles) { return tiles.columns; }
  static int64_t size(int64_t rows, int64_t length) { return rows * length; }

  // In `memory`, which has room for them. pack(row, count, to) puts rows [row, row + count) there as [length, count].
  template <class F>
  PackedRows(const ProductTiles<T>& tiles, int64_t rows, int64_t length, T* memory, F&& pack)
      : tiles_(tiles), rows_(rows), length_(length), data_(memory) {
    for (int64_t row = 0; row < rows; row += blocks_.back().rows()) {
      const int choice = tiles.choice(rows - row);
      blocks_.push_back({row, choice});
    }
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, 8 * length));
    parallel_for(0, int64_t(blocks_.size()), grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        pack(blocks_[size_t(b)].row, blocks_[size_t(b)].rows(), data_ + blocks_[size_t(b)].row * length);
    });
  }

  // Columns, as a product reads them: column j of row i at data[offsets[i] + j].
  struct Columns {
    const T* data;
    const int64_t* offsets;
  };
  static constexpr int64_t kTogether = 1024 / int64_t(sizeof(T));

  // tiles[t, rows, tiles_.columns] = the products with several tiles of columns, whose rows [first, first + count) are at
  // columns(t, first, count). A part of the length is taken for all rows, then the next: what is read of the columns stays
  // in the first cache, and what is read of this in the second for all tiles.
  template <class F>
  void multiply(int64_t count, F&& columns, T* tiles) const {
    const int64_t size = rows_ * tiles_.columns;
    for (int64_t first = 0; first == 0 || first < length_; first += kTogether) {
      const int64_t length = std::min(kTogether, length_ - first);
      for (int64_t t = 0; t < count; ++t) {
        const Columns part = columns(t, first, length);
        for (const Block& block : blocks_)
          tiles_.product[block.choice](data_ + block.row * length_ + first * block.rows(), part.data,
                                       part.offsets, length, tiles + t * size + block.row * tiles_.columns,
                                       first > 0);
      }
    }
  }
  const T* data() const { return data_; }
  int64_t rows() const { return rows_; }
  // Of columns that are gathered, one panel of so many rows at a time.
  int64_t panels() const { return 1; }
  int64_t panel_rows() const { return kTogether; }
  // How many tiles are worth taking at once: few where all of this stays in the second cache.
  int64_t worth_together() const {
    constexpr int64_t kNear = int64_t(1) << 18;
    return rows_ * length_ * int64_t(sizeof(T)) > kNear ? 6 : 1;
  }

 private:
  struct Block {
    int64_t row;
    int choice;
    int64_t rows() const { return ProductTiles<T>::kRowChoices[choice]; }
  };
  const ProductTiles<T>& tiles_;
  int64_t rows_, length_;
  T* data_;
  std::vector<Block> blocks_;
};

}  // namespace mt::kernels
