// Products of halves for attention. Note [Attention by tensor cores]
#pragma once

#include "backends/cuda/device/attention_rows.h"

namespace mt::cuda {

// Matrices lie in shared memory without gaps: 16 bytes of row r at piece ^ (r & 7), so that eight rows of a piece, and eight
// pieces of a row, are in different banks.
template <class T, int kDim> struct Products {
  static constexpr int kStride = AttentionRoom<2, kDim>::kStride, kColumns = kDim / 8;
  static constexpr int kSteps = kDim / 16;  // of a product over the columns of rows

  static int place(int row, int piece) { return (piece ^ (row & 7)) * 4; }
  static int column(int slot, const AttentionLane& lane) { return 2 * lane.t + slot; }

  // Where a lane's row of four matrices lies: 16 rows (down) or 8 (side) by 16 or 32 bytes, after `step` times 32 bytes.
  struct Reading {
    int row, piece;
    int at(int step) const { return row + (piece ^ step % 4 * 8) + step / 4 * 32; }
  };
  // Matrices below each other first: the left operand, and rows that are multiplied by scores.
  static Reading down(const AttentionLane& lane) {
    const int r = lane.lane % 8;
    return {(r + lane.lane / 8 % 2 * 8) * kStride, (lane.lane / 16 ^ r) * 4};
  }
  // Matrices beside each other first: rows that stand for columns.
  static Reading side(const AttentionLane& lane) {
    const int r = lane.lane % 8;
    return {(r + lane.lane / 16 * 8) * kStride, (lane.lane / 8 % 2 ^ r) * 4};
  }

  static void multiply(float (&to)[4], const uint32_t (&a)[4], uint32_t low, uint32_t high) {
    const uint32_t b[2] = {low, high};
    if constexpr (std::is_same_v<T, Half>) multiply_half(to, a, b);
    else multiply_bfloat16(to, a, b);
  }
  static uint32_t pair(float low, float high) {
    if constexpr (std::is_same_v<T, Half>) return two_halves(low, high);
    else return two_bfloat16(low, high);
  }

  // A warp's own rows as left operands: kept in registers, or read again every time.
  template <int kGroups, bool kKept> struct Own {
    struct Left {
      uint32_t at[kGroups][4];
    };
    Left kept[kKept ? kSteps : 1];
    const uint32_t* rows;
    Reading reading;

    Own(const uint32_t* own, const AttentionLane& lane) : rows(own), reading(down(lane)) {
      if constexpr (kKept)
#pragma unroll
        for (int step = 0; step < kSteps; ++step) kept[step] = read(step);
    }
    Left read(int step) const {
      Left made;
#pragma unroll
      for (int group = 0; group < kGroups; ++group)
        read_matrices(made.at[group], rows + group * 16 * kStride + reading.at(step));
      return made;
    }
    Left left(int step) const {
      if constexpr (kKept) return kept[step];
      else return read(step);
    }
  };

  // scores [16, kRows] += own * rows^T, for groups of 16 rows.
  template <int kRows, int, int kGroups, bool kKept> static void multiply_scores(
      float (&scores)[kGroups][kRows / 8][4], const Own<kGroups, kKept>& own, const uint32_t* rows,
      const AttentionLane& lane) {
    const Reading reading = side(lane);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const auto left = own.left(step);
      const uint32_t* const from = rows + reading.at(step);
#pragma unroll
      for (int n = 0; n < kRows / 8; n += 2) {
        uint32_t right[4];
        read_matrices(right, from + n * 8 * kStride);
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
          multiply(scores[group][n], left.at[group], right[0], right[1]);
          multiply(scores[group][n + 1], left.at[group], right[2], right[3]);
        }
      }
    }
  }

  // to [16, kDim] += scores [16, kRows] * rows, for groups of 16 rows.
  template <int kRows, int kGroups> static void multiply_rows(float (&to)[kGroups][kColumns][4],
                                                              const float (&scores)[kGroups][kRows / 8][4],
                                                              const uint32_t* rows,
                                                              const AttentionLane& lane) {
    const Reading reading = down(lane);
#pragma unroll
    for (int n = 0; n < kRows / 8; n += 2) {
      uint32_t left[kGroups][4];
#pragma unroll
      for (int group = 0; group < kGroups; ++group)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          left[group][i] = pair(scores[group][n + i / 2][i % 2 * 2], scores[group][n + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        uint32_t right[4];
        read_matrices_turned(right, rows + n * 8 * kStride + reading.at(step));
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
          multiply(to[group][2 * step], left[group], right[0], right[1]);
          multiply(to[group][2 * step + 1], left[group], right[2], right[3]);
        }
      }
    }
  }

  // A warp's rows of a result, each row times a number of its own. They go through `room`, the warp's own, so that they are
  // written as they lie.
  template <int kGroups> static void write(const AttentionRows<T>& to,
                                           const float (&made)[kGroups][kColumns][4], long long rows, int dim,
                                           const float (&factors)[kGroups][2], uint32_t* room,
                                           const AttentionLane& lane) {
    __syncwarp();  // its lanes may still read rows of theirs there
#pragma unroll
    for (int group = 0; group < kGroups; ++group)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = group * 16 + r * 8 + lane.g;
        const float factor = factors[group][r];
#pragma unroll
        for (int n = 0; n < kColumns; ++n)
          room[row * kStride + place(row, n) + lane.t] =
              pair(made[group][n][2 * r] * factor, made[group][n][2 * r + 1] * factor);
      }
    __syncwarp();
    constexpr int rows_at_once = 32 / kColumns;
    const int piece = lane.lane % kColumns, first = piece * 8;
#pragma unroll
    for (int r = 0; r < kGroups * 16; r += rows_at_once) {
      const int row = r + lane.lane / kColumns;
      if (row >= rows) break;
      const auto values = *reinterpret_cast<const Several<T, 8>*>(room + row * kStride + place(row, piece));
      T* const there = to.data + row * to.row + first * to.column;
      if (to.whole) {
        if (first < dim) *reinterpret_cast<Several<T, 8>*>(there) = values;
      } else {
#pragma unroll
        for (int k = 0; k < 8; ++k)
          if (first + k < dim) there[k * to.column] = values.value[k];
      }
    }
  }
};

}  // namespace mt::cuda
