// How the kernels of attention share out their work, as the host and the device see it. Note [Attention by tensor cores]
#pragma once

namespace mt::cuda {

// Rows of a matrix in shared memory. kBytes: of an element.
template <int kBytes, int kDim> struct AttentionRoom {
  static constexpr bool kHalves = kBytes == 2;
  static constexpr int kWords = kDim * kBytes / 4;  // of a row
  static constexpr int kStride = kWords + (kHalves ? 0 : 8);
  static constexpr int kEach = 16 / kBytes;  // elements of 16 bytes
  static_assert(kWords % 32 == 0);
};

// Forward: a warp has kGroups times 16 queries.
template <int kBytes, int kDim> struct ForwardTile : AttentionRoom<kBytes, kDim> {
  using Room = AttentionRoom<kBytes, kDim>;
  static constexpr int kGroups = Room::kHalves ? 2 : 1, kWarps = 4;
  static constexpr int kOwnRows = kWarps * kGroups * 16;                       // queries of a block
  static constexpr int kKeys = Room::kHalves || Room::kWords <= 64 ? 64 : 32;  // at a time
  // Queries stay in registers; the next keys and values come while these are used. Wider heads have no room for either.
  static constexpr bool kKept = Room::kHalves && kDim <= 64, kTwice = kKept;
  static constexpr int kMemory = 4 * (kOwnRows + (kTwice ? 4 : 2) * kKeys) * Room::kStride;
  static constexpr int kBlocks = Room::kHalves || kDim > 64 ? 2 : 3;
};

// Backward: two matrices stay, two come and go and are there twice, with two numbers of each row.
template <int kBytes, int kDim, bool kOfKeys> struct BackwardTile : AttentionRoom<kBytes, kDim> {
  using Room = AttentionRoom<kBytes, kDim>;
  static constexpr int kGroups = Room::kHalves && kDim <= 64 && !kOfKeys ? 2 : 1, kWarps = 4;
  static constexpr int kOwnRows = kWarps * kGroups * 16;
  // At a time.
  static constexpr int kOtherRows = Room::kHalves && kGroups == 1 ? 64 : Room::kWords <= 64 ? 32 : 16;
  // Bits: which of the two that stay do so in registers.
  static constexpr int kKept = !Room::kHalves ? 0 : kDim <= 64 ? 3 : kOfKeys ? 0 : 1;
  static constexpr int kOwnWords = 2 * kOwnRows * Room::kStride, kOtherWords = 2 * kOtherRows * Room::kStride;
  static constexpr int kMemory = 4 * (kOwnWords + 2 * (kOtherWords + 2 * kOtherRows));
  static constexpr int kBlocks = Room::kHalves || kDim > 64 ? 2 : 3;
};

// What the host wants to know of a kernel.
struct AttentionShape {
  int rows, threads, memory;  // of a block
  int blocks;                 // of a processor, by which the compiler counts registers
};
template <class Tile> inline constexpr AttentionShape kAttentionShape{Tile::kOwnRows, Tile::kWarps * 32,
                                                                      Tile::kMemory, Tile::kBlocks};
inline constexpr int kPreparedRows = 4;  // of a warp

}  // namespace mt::cuda
