// Rows of a matrix of pairs of bfloat16 in the order in which PairTiles read them; see Note [Pairs].
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/half.h"
#include "kernels/common/parallel.h"
#include "kernels/matmul/bfloat16_product.h"

namespace mt::kernels {

// What PackedRows is for other types: elements are pairs, and sums of products are floats. All of the length is multiplied
// at once, so that several tiles are packed before.
class PairRows {
 public:
  using Element = uint32_t;
  using Sum = float;
  using Tiles = PairTiles;
  static constexpr int64_t kStack = 2;
  static int64_t columns(const Tiles&) { return PairTiles::kSide; }
  static int64_t size(int64_t rows, int64_t length) {
    return round_up(rows, kSide) * round_up(length, kBlock);
  }

  // In `memory`, which has room for them. pack(row, 1, to) puts a row there.
  template <class F>
  PairRows(const PairTiles& tiles, int64_t rows, int64_t length, uint32_t* memory, F&& pack)
      : tiles_(tiles),
        rows_(round_up(rows, kSide)),
        length_(length),
        padded_(round_up(length, kBlock)),
        data_(memory) {
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, kHalf * length));
    parallel_for(0, rows_ / kHalf, grain, [&](int64_t begin, int64_t end) {
      std::vector<uint32_t> line(size_t(padded_), 0u);
      for (int64_t row = begin * kHalf; row < end * kHalf; ++row) {
        if (row < rows) pack(row, 1, line.data());
        else std::fill(line.begin(), line.end(), 0u);
        uint32_t* to = data_ + row / kHalf * kHalf * padded_ + row % kHalf * kBlock;
        for (int64_t p = 0; p < padded_; p += kBlock, to += kHalf * kBlock)
          std::copy_n(line.data() + p, kBlock, to);
      }
    });
  }

  // tiles[t, rows, 32] = the products with so many panels; panel(t, 0, length) is [panel_rows(), 32] pairs.
  template <class F>
  void multiply(int64_t count, F&& panel, float* tiles) const {
    const uint32_t* panels[kMost];
    for (int64_t t = 0; t < count; ++t) panels[t] = panel(t, 0, length_);
    tiles_.begin();
    for (int64_t row = 0; row < rows_; row += kSide)
      for (int64_t t = 0; t < count; ++t)
        tiles_.multiply(reinterpret_cast<const BFloat16*>(data_ + row * padded_), 2 * kHalf * padded_,
                        reinterpret_cast<const BFloat16*>(panels[t]), 2 * kHalf, 2 * kSide, padded_ / kBlock,
                        tiles + (t * rows_ + row) * kSide);
    tiles_.end();
  }
  // Rows behind the last meet weights of zero, and must be numbers.
  const uint32_t* fill_up(uint32_t* panel) const {
    std::fill(panel + length_ * kSide, panel + padded_ * kSide, 0u);
    return panel;
  }
  int64_t rows() const { return rows_; }  // to whole squares
  int64_t panels() const { return worth_together(); }
  int64_t panel_rows() const { return padded_; }
  // As many as stay in the second cache beside rows of a square.
  int64_t worth_together() const {
    constexpr int64_t kNear = int64_t(1) << 20;
    return std::clamp<int64_t>(kNear / std::max<int64_t>(1, padded_ * kSide * 4), 1, kMost);
  }

 private:
  static constexpr int64_t kSide = PairTiles::kSide, kHalf = PairTiles::kHalf,
                           kBlock = PairTiles::kDepth / 2;  // pairs
  static constexpr int64_t kMost = 8;
  static int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

  const PairTiles& tiles_;
  int64_t rows_, length_, padded_;
  uint32_t* data_;
};

}  // namespace mt::kernels
