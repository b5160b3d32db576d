// How the kernels of attention share out their work, as the host and the device see it. Note [Attention by tensor cores]
#pragma once

namespace mt::cuda {

inline constexpr int kAttentionThreads = 128;
inline constexpr int kOwnRows = 64;  // of a block, backward: 16 for each warp

// kBytes: of an element.
template <int kBytes, int kDim> struct AttentionTile {
  static constexpr int kWords = kDim * kBytes / 4;  // of a row
  static constexpr int kStride = kWords + 8;
  static constexpr int kEach = 16 / kBytes;    // elements of 16 bytes
  static constexpr int kBlocks = kWords / 32;  // of a row, 32 words each
  static constexpr int kColumns = kDim / 8;    // products that lie side by side in a result
  static_assert(kWords % 32 == 0);
  // Forward: times 16 rows of a warp. What a product of halves takes is soon there, and the second time at no cost.
  static constexpr int kGroups = kBytes == 2 ? 2 : 1;
  static constexpr int kQueries = kGroups * kOwnRows;             // of a block
  static constexpr int kKeys = kGroups * kWords <= 64 ? 64 : 32;  // at a time
  static constexpr int kOtherRows = kWords <= 64 ? 32 : 16;       // backward: at a time
  static constexpr int kForwardBytes = 4 * (kQueries + 2 * kKeys) * kStride;
  // Backward: two matrices stay, two come and go and are there twice, with two numbers of each row.
  static constexpr int kOwnWords = 2 * kOwnRows * kStride, kOtherWords = 2 * kOtherRows * kStride;
  static constexpr int kBackwardBytes = 4 * (kOwnWords + 2 * (kOtherWords + 2 * kOtherRows));
  // Blocks of a processor at once; the compiler counts registers by them.
  static constexpr int kForwardBlocks = kDim <= 64 && kGroups == 1 ? 3 : 2,
                       kBackwardBlocks = kDim <= 64 ? 3 : 2;
};

}  // namespace mt::cuda
