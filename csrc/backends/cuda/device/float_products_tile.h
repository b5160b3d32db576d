// How the kernels of products of floats share out their work, as the host and the device see it. Note [Products of
// floats]
#pragma once

namespace mt::cuda {

// Two groups of four warps multiply, each 64 rows by all columns, kWide of these at a time; a third group prepares.
template <int kParts_, int kWide_> struct FloatProductTile {
  static constexpr int kParts = kParts_, kWide = kWide_;
  static constexpr int kMultiply = 256, kPrepare = 128, kThreads = kMultiply + kPrepare;
  static constexpr int kRows = 128, kColumns = kParts * kWide;
  static constexpr int kInner = 32;  // of the dimension that is summed over, at a time
  // In shared memory: both sides as they come, three times, and right ones in big and small words, twice.
  static constexpr int kLeftWords = kRows * kInner, kRightWords = kColumns * kInner;
  static constexpr int kComingWords = kLeftWords + kRightWords, kSplitWords = 2 * kRightWords;
  static constexpr int kMemory = 4 * (2 * kSplitWords + 3 * kComingWords);
  // Registers of a thread; 64 K are there, and a block begins with as many for each.
  static constexpr int kOfMultiply = 216, kOfPrepare = 72;
  static_assert(kMultiply * kOfMultiply + kPrepare * kOfPrepare <= 65536);
};
using FloatProductWide = FloatProductTile<2, 64>;    // 128 x 128
using FloatProductNarrow = FloatProductTile<1, 96>;  // 128 x 96

}  // namespace mt::cuda
