// Products of floats for attention, each of them three of TF32 numbers. Note [Attention by tensor cores]
#pragma once

#include "backends/cuda/device/attention_rows.h"
#include "backends/cuda/device/split_floats.h"

namespace mt::cuda {

// What is multiplied: the sum of two numbers of TF32.
struct FloatOperands {
  struct Left {
    uint32_t big[4], small[4];
  };
  struct Right {
    uint32_t big[2], small[2];
  };
  static Left left(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    Left made;
    split_rounded(a, made.big[0], made.small[0]);
    split_rounded(b, made.big[1], made.small[1]);
    split_rounded(c, made.big[2], made.small[2]);
    split_rounded(d, made.big[3], made.small[3]);
    return made;
  }
  static Right right(uint32_t a, uint32_t b) {
    Right made;
    split(a, made.big[0], made.small[0]);
    split(b, made.big[1], made.small[1]);
    return made;
  }
  static Left left(const float (&scores)[4]) {
    const auto word = [&](int i) { return std::bit_cast<uint32_t>(scores[i]); };
    return left(word(0), word(2), word(1), word(3));
  }
  // Sums of products for `to` [16, 8 columns each]; finish() adds them there.
  template <int N, bool kApart> struct Sums {
    float (*to)[4];
    float big[N][4] = {}, small[kApart ? N : 1][4] = {};
    // Neighbours do not wait for each other.
    void add(const Left& a, const Right (&b)[N]) {
      float (*const rest)[4] = kApart ? small : big;
#pragma unroll
      for (int n = 0; n < N; ++n) multiply_tf32(rest[n], a.small, b[n].big);
#pragma unroll
      for (int n = 0; n < N; ++n) multiply_tf32(rest[n], a.big, b[n].small);
#pragma unroll
      for (int n = 0; n < N; ++n) multiply_tf32(big[n], a.big, b[n].big);
    }
    void finish() {
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) to[n][i] += kApart ? big[n][i] + small[n][i] : big[n][i];
    }
  };
};

// A product takes 8 words of k at a time, and which 8 they are does not matter as long as both sides agree, so each lane reads
// 16 bytes of a row at once: words for two products. There are 8 words between the rows in shared memory, and rows of the other
// side stand in for columns in the order seen_row(), for which lanes that read at the same time never meet in a bank, whether
// rows run along n (scores) or along k (what scores are multiplied with).
template <int kDim> struct Products<float, kDim> {
  using Operands = FloatOperands;
  static constexpr int kStride = AttentionRoom<4, kDim>::kStride, kColumns = kDim / 8;
  static constexpr int kBlocks = kDim / 32;  // of a row, 32 words each

  static int place(int, int piece) { return piece * 4; }
  // The row that stands for column n of eight.
  static int seen_row(int n) { return n ^ n >> 2; }
  static int column(int slot, const AttentionLane& lane) { return seen_row(2 * lane.t + slot); }
  // The word of a row from which a lane reads four, in each half of 32 words.
  static int word(int half, int t) { return half / 2 * 32 + 4 * (t + (t & 2) + half % 2 * 2); }

  // A warp's own rows as left operands.
  template <int kGroups, bool> struct Own {
    const uint32_t* rows;
    Own(const uint32_t* own, const AttentionLane& lane) : rows(own + lane.g * kStride) {}
  };

  // scores [16, kRows] += own * rows^T, for groups of 16 rows; kTogether times 8 columns at once.
  template <int kRows, int kTogether, int kGroups, bool kKept> static void multiply_scores(
      float (&scores)[kGroups][kRows / 8][4], const Own<kGroups, kKept>& own, const uint32_t* rows,
      const AttentionLane& lane) {
    constexpr int together = kRows / 8 < kTogether ? kRows / 8 : kTogether;
    rows += seen_row(lane.g) * kStride;
#pragma unroll
    for (int n = 0; n < kRows / 8; n += together) {
      Operands::Sums<together, true> sums[kGroups];
#pragma unroll
      for (int group = 0; group < kGroups; ++group) sums[group].to = &scores[group][n];
#pragma unroll
      for (int half = 0; half < 2 * kBlocks; ++half) {
        const int at = word(half, lane.t);
        Words words[together];
#pragma unroll
        for (int k = 0; k < together; ++k)
          words[k] = *reinterpret_cast<const Words*>(rows + (n + k) * 8 * kStride + at);
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
          const uint32_t* const left = own.rows + group * 16 * kStride + at;
          const Words low = *reinterpret_cast<const Words*>(left),
                      high = *reinterpret_cast<const Words*>(left + 8 * kStride);
#pragma unroll
          for (int k = 0; k < 4; k += 2) {
            Operands::Right right[together];
#pragma unroll
            for (int i = 0; i < together; ++i)
              right[i] = Operands::right(words[i].value[k], words[i].value[k + 1]);
            sums[group].add(Operands::left(low.value[k], high.value[k], low.value[k + 1], high.value[k + 1]),
                            right);
          }
        }
      }
#pragma unroll
      for (int group = 0; group < kGroups; ++group) sums[group].finish();
    }
  }

  // to [16, kDim] += scores [16, kRows] * rows, for groups of 16 rows. 32 columns at a time, one word after the other: pairs
  // of rows are next to each other then, which instructions want.
  template <int kRows, int kGroups> static void multiply_rows(float (&to)[kGroups][kColumns][4],
                                                              const float (&scores)[kGroups][kRows / 8][4],
                                                              const uint32_t* rows,
                                                              const AttentionLane& lane) {
    constexpr int together = kBlocks < 2 ? 1 : 2;  // blocks
    rows += lane.g;
#pragma unroll
    for (int block = 0; block < kBlocks; block += together) {
      Operands::Sums<4, false> sums[together][kGroups];
#pragma unroll
      for (int k = 0; k < together; ++k)
#pragma unroll
        for (int group = 0; group < kGroups; ++group) sums[k][group].to = &to[group][(block + k) * 4];
#pragma unroll
      for (int n = 0; n < kRows / 8; ++n) {
        Operands::Left left[kGroups];
#pragma unroll
        for (int group = 0; group < kGroups; ++group) left[group] = Operands::left(scores[group][n]);
#pragma unroll
        for (int k = 0; k < together; ++k) {
          const uint32_t* const from = rows + n * 8 * kStride + (block + k) * 32;
          Operands::Right right[4];
#pragma unroll
          for (int i = 0; i < 4; ++i)
            right[i] = Operands::right(from[column(0, lane) * kStride + 8 * i],
                                       from[column(1, lane) * kStride + 8 * i]);
#pragma unroll
          for (int group = 0; group < kGroups; ++group) sums[k][group].add(left[group], right);
        }
      }
#pragma unroll
      for (int k = 0; k < together; ++k)
#pragma unroll
        for (int group = 0; group < kGroups; ++group) sums[k][group].finish();
    }
  }

  // A warp's rows of a result, each row times a number of its own.
  template <int kGroups> static void write(const AttentionRows<float>& to,
                                           const float (&made)[kGroups][kColumns][4], long long rows, int dim,
                                           const float (&factors)[kGroups][2], uint32_t*,
                                           const AttentionLane& lane) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = group * 16 + r * 8 + lane.g;
        if (row >= rows) continue;
#pragma unroll
        for (int n = 0; n < kColumns; ++n) {
          const int first = n * 8 + 2 * lane.t;
          Several<float, 2> values;
#pragma unroll
          for (int k = 0; k < 2; ++k) values.value[k] = made[group][n][2 * r + k] * factors[group][r];
          float* const there = to.data + row * to.row + first * to.column;
          if (to.whole) {
            if (first < dim) *reinterpret_cast<Several<float, 2>*>(there) = values;
          } else {
#pragma unroll
            for (int k = 0; k < 2; ++k)
              if (first + k < dim) there[k * to.column] = values.value[k];
          }
        }
      }
  }
};

}  // namespace mt::cuda
