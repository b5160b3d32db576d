// softmax(query @ key^T * scale + mask) @ value without the matrix of all scores, and its gradients.
//
// Launch (AttentionCall, by value); T is float, Half or BFloat16, dim 32 (float only), 64 or 128, no less than dim and value_dim:
//   attention_forward<T, dim, masked>         block 128, grid batch * heads * ceil(queries / AttentionTile::kQueries)
//   attention_prepared<T>                     block (32, any), any grid: what backward needs of each row
//   attention_backward<T, dim, masked, true>  block 128, grid batch * key_heads * ceil(keys / 64): gradients of key and value
//   attention_backward<T, dim, masked, false> block 128, grid batch * heads * ceil(queries / 64): that of the query
// They want kForwardBytes and kBackwardBytes of shared memory (attention_tile.h). Sums are taken in a fixed order.
//
// Note [Attention by tensor cores]
// A warp has 16 rows of a product (forward, of halves: 32, for which what comes from the other side is read once) and walks
// over the other side in steps of 8 columns. Matrices lie in shared memory as rows
// of 32-bit words (a float, or two halves side by side) with 8 words between them. A product takes 8 words of k a time, and
// which 8 they are does not matter as long as both sides agree, so each lane reads 16 bytes of a row at once: words for two
// products. Rows of the other side stand in for columns in the order seen_row(), for which lanes that read at the same time
// never meet in a bank, whether rows run along n (scores) or along k (what scores are multiplied with). A lane's scores are
// its part of the left operand of the second product, and its columns of the result lie side by side.
// A float is the sum of two numbers of TF32, and a product of floats three of theirs; what is left out is below 2^-20 of it.
// Tensor cores cut off what a sum has too many digits for, always towards zero, so that long sums of floats would lose more
// than they have in float32: theirs are short (a tile's, and the small products apart from the big ones), and are added up by
// ordinary additions. Halves are multiplied as they are. Everything is summed in float.
#pragma once

#include <tensor_cores.h>

#include "backends/cuda/device/attention_tile.h"
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/calls.h"

namespace mt::cuda {

inline constexpr float kLog2OfE = 1.44269504f, kLnOf2 = 0.693147181f;
template <class T, int kDim> using TileOf = AttentionTile<int(sizeof(T)), kDim>;

using Words = Several<uint32_t, 4>;

// Where a lane stands in the products of its warp.
struct AttentionLane {
  int warp = int(threadIdx.x) / 32, g = int(threadIdx.x) % 32 / 4, t = int(threadIdx.x) % 4;

  // The row that stands for column n of eight.
  static int seen_row(int n) { return n ^ n >> 2; }
  int column(int slot) const { return seen_row(2 * t + slot); }
  // The word of a row from which a lane reads four, in each half of 32 words.
  int word(int half) const { return half / 2 * 32 + 4 * (t + (t & 2) + half % 2 * 2); }
};

// What is multiplied, made of words of memory or of results.
template <class T> struct Operands {  // of halves
  static constexpr int kSteps = 2;    // of 8 columns of scores make 8 words of k
  struct Left {
    uint32_t at[4];
  };
  struct Right {
    uint32_t at[2];
  };
  static uint32_t pair(float low, float high) {
    if constexpr (std::is_same_v<T, Half>) return two_halves(low, high);
    else return two_bfloat16(low, high);
  }
  static Left left(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return {{a, b, c, d}}; }
  static Right right(uint32_t a, uint32_t b) { return {{a, b}}; }
  static Left left(const float (*scores)[4]) {
    return {{pair(scores[0][0], scores[0][1]), pair(scores[0][2], scores[0][3]),
             pair(scores[1][0], scores[1][1]), pair(scores[1][2], scores[1][3])}};
  }
  // Sums of products for `to` [16, 8 columns each]; finish() puts them there.
  template <int N, bool> struct Sums {
    float (*to)[4];
    void add(const Left& a, const Right (&b)[N]) {
#pragma unroll
      for (int n = 0; n < N; ++n) {
        if constexpr (std::is_same_v<T, Half>) multiply_half(to[n], a.at, b[n].at);
        else multiply_bfloat16(to[n], a.at, b[n].at);
      }
    }
    void finish() {}
  };
  // Products of 64 columns of rows. A lane reads 8 that lie side by side, and has such of the result.
  template <int kGroups> static void add_rows(Sums<8, false> (&sums)[kGroups], const Left (&a)[kGroups],
                                              const uint32_t* rows, int stride, const AttentionLane& lane) {
    rows += 4 * lane.g;
    const Words r0 = *reinterpret_cast<const Words*>(rows + lane.column(0) * stride),
                r1 = *reinterpret_cast<const Words*>(rows + lane.column(1) * stride),
                r2 = *reinterpret_cast<const Words*>(rows + (lane.column(0) + 8) * stride),
                r3 = *reinterpret_cast<const Words*>(rows + (lane.column(1) + 8) * stride);
    Right b[8];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      b[2 * i] = right(low_halves(r0.value[i], r1.value[i]), low_halves(r2.value[i], r3.value[i]));
      b[2 * i + 1] = right(high_halves(r0.value[i], r1.value[i]), high_halves(r2.value[i], r3.value[i]));
    }
#pragma unroll
    for (int group = 0; group < kGroups; ++group) sums[group].add(a[group], b);
  }
  static constexpr int kBeside = 8;  // columns of a result that a lane has side by side
  static int column(int piece, const AttentionLane& lane) {
    return (piece / 2 * 8 + 2 * lane.t + piece % 2) * 8;
  }
  // Element k of a piece in row g (0) or g + 8 (1).
  static float taken(const float (*made)[4], int piece, int k, int row) {
    return made[piece / 2 * 8 + k][2 * row + piece % 2];
  }
  static uint32_t low_halves(uint32_t a, uint32_t b) { return __byte_perm(a, b, 0x5410); }
  static uint32_t high_halves(uint32_t a, uint32_t b) { return __byte_perm(a, b, 0x7632); }
};

template <> struct Operands<float> {
  static constexpr int kSteps = 1;
  struct Left {
    uint32_t big[4], small[4];
  };
  struct Right {
    uint32_t big[2], small[2];
  };
  static void split(uint32_t word, uint32_t& big, uint32_t& small) {
    big = word & 0xffffe000u;
    small = std::bit_cast<uint32_t>(std::bit_cast<float>(word) - std::bit_cast<float>(big));
  }
  // Rounded instead of cut off: a sum of its own, which needs not be moved to where its neighbours are.
  static void split_rounded(uint32_t word, uint32_t& big, uint32_t& small) {
    big = (word + 0x1000u) & 0xffffe000u;
    small = std::bit_cast<uint32_t>(std::bit_cast<float>(word) - std::bit_cast<float>(big));
  }
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
  static Left left(const float (*scores)[4]) {
    const auto word = [&](int i) { return std::bit_cast<uint32_t>(scores[0][i]); };
    return left(word(0), word(2), word(1), word(3));
  }
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
  // 32 columns, one word after the other: pairs of rows are next to each other then, which instructions want.
  template <int kGroups> static void add_rows(Sums<4, false> (&sums)[kGroups], const Left (&a)[kGroups],
                                              const uint32_t* rows, int stride, const AttentionLane& lane) {
    rows += lane.g;
    Right b[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      b[i] = right(rows[lane.column(0) * stride + 8 * i], rows[lane.column(1) * stride + 8 * i]);
#pragma unroll
    for (int group = 0; group < kGroups; ++group) sums[group].add(a[group], b);
  }
  static constexpr int kBeside = 2;
  static int column(int piece, const AttentionLane& lane) { return piece * 8 + 2 * lane.t; }
  static float taken(const float (*made)[4], int piece, int k, int row) { return made[piece][2 * row + k]; }
};

// 16 bytes of a row for every lane of the rows g and g + 8: left operands of two products.
template <class T> struct LeftWords {
  Words low, high;
  LeftWords(const uint32_t* rows, int stride, const AttentionLane& lane, int at)
      : low(*reinterpret_cast<const Words*>(rows + lane.g * stride + at)),
        high(*reinterpret_cast<const Words*>(rows + (lane.g + 8) * stride + at)) {}
  auto operand(int which) const {
    const int k = 2 * which;
    return Operands<T>::left(low.value[k], high.value[k], low.value[k + 1], high.value[k + 1]);
  }
};

// scores [16, kRows] = own * rows^T, for groups of 16 rows.
template <class T, int kDim, int kRows, int kTogether, int kGroups> void multiply_scores(
    float (&scores)[kGroups][kRows / 8][4], const uint32_t* own, const uint32_t* rows,
    const AttentionLane& lane) {
  using Tile = TileOf<T, kDim>;
  constexpr int together = kRows / 8 < kTogether ? kRows / 8 : kTogether;
  using Right = typename Operands<T>::Right;
  rows += lane.seen_row(lane.g) * Tile::kStride;
#pragma unroll
  for (int n = 0; n < kRows / 8; n += together) {
    typename Operands<T>::template Sums<together, true> sums[kGroups];
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
#pragma unroll
      for (int k = 0; k < together; ++k)
#pragma unroll
        for (float& score : scores[group][n + k]) score = 0;
      sums[group].to = &scores[group][n];
    }
#pragma unroll
    for (int half = 0; half < 2 * Tile::kBlocks; ++half) {
      const int at = lane.word(half);
      Words words[together];
#pragma unroll
      for (int k = 0; k < together; ++k)
        words[k] = *reinterpret_cast<const Words*>(rows + (n + k) * 8 * Tile::kStride + at);
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        const LeftWords<T> left(own + group * 16 * Tile::kStride, Tile::kStride, lane, at);
#pragma unroll
        for (int step = 0; step < 2; ++step) {
          Right right[together];
#pragma unroll
          for (int k = 0; k < together; ++k)
            right[k] = Operands<T>::right(words[k].value[2 * step], words[k].value[2 * step + 1]);
          sums[group].add(left.operand(step), right);
        }
      }
    }
#pragma unroll
    for (int group = 0; group < kGroups; ++group) sums[group].finish();
  }
}

// to [16, kDim] += scores [16, kRows] * rows, for groups of 16 rows.
template <class T, int kDim, int kRows, int kGroups> void multiply_rows(
    float (&to)[kGroups][kDim / 8][4], const float (&scores)[kGroups][kRows / 8][4], const uint32_t* rows,
    const AttentionLane& lane) {
  using Tile = TileOf<T, kDim>;
  constexpr int together = Tile::kBlocks < 2 ? 1 : 2;  // blocks
#pragma unroll
  for (int block = 0; block < Tile::kBlocks; block += together) {
    typename Operands<T>::template Sums<Tile::kEach, false> sums[together][kGroups];
#pragma unroll
    for (int k = 0; k < together; ++k)
#pragma unroll
      for (int group = 0; group < kGroups; ++group) sums[k][group].to = &to[group][(block + k) * Tile::kEach];
#pragma unroll
    for (int n = 0; n < kRows / 8; n += Operands<T>::kSteps) {
      typename Operands<T>::Left left[kGroups];
#pragma unroll
      for (int group = 0; group < kGroups; ++group) left[group] = Operands<T>::left(&scores[group][n]);
#pragma unroll
      for (int k = 0; k < together; ++k)
        Operands<T>::add_rows(sums[k], left, rows + n * 8 * Tile::kStride + (block + k) * 32, Tile::kStride,
                              lane);
    }
#pragma unroll
    for (int k = 0; k < together; ++k)
#pragma unroll
      for (int group = 0; group < kGroups; ++group) sums[k][group].finish();
  }
}

// A matrix of one batch and head, from a row on.
template <class T> struct AttentionRows {
  T* data;
  long long row, column;  // strides
  int whole;              // 16 bytes of a row may be read or written at once

  AttentionRows(const Places& places, int is_whole, long long batch, long long head, long long first)
      : data(static_cast<T*>(places.data) + batch * places.strides[3] + head * places.strides[2] +
             first * places.strides[1]),
        row(places.strides[1]),
        column(places.strides[0]),
        whole(is_whole) {}
};

// Rows come to shared memory, zeros behind the last one and behind `dim`. Wait with copies_done() and a barrier.
template <class T, int kDim, int kRows> void fetch_rows(uint32_t* to, const AttentionRows<T>& from,
                                                        long long there, int dim) {
  using Tile = TileOf<T, kDim>;
  constexpr int pieces = Tile::kWords / 4, rows_at_once = kAttentionThreads / pieces;
  const int piece = int(threadIdx.x) % pieces, row = int(threadIdx.x) / pieces, first = piece * Tile::kEach;
  const T* source = from.data + row * from.row + first * from.column;
  to += row * Tile::kStride + piece * 4;
  if (from.whole) {
#pragma unroll
    for (int r = 0; r < kRows; r += rows_at_once) {
      const bool exists = r + row < there && first < dim;
      copy_later(to + r * Tile::kStride, exists ? source : from.data, exists);
      source += rows_at_once * from.row;
    }
  } else {
#pragma unroll 1
    for (int r = 0; r < kRows; r += rows_at_once) {
      Several<T, Tile::kEach> values;
#pragma unroll
      for (int k = 0; k < Tile::kEach; ++k)
        values.value[k] = r + row < there && first + k < dim ? source[k * from.column] : T(0.0f);
      *reinterpret_cast<Several<T, Tile::kEach>*>(to + r * Tile::kStride) = values;
      source += rows_at_once * from.row;
    }
  }
}

// A warp's 16 rows of a result, each row times a number of its own.
template <class T, int kDim> void write_rows(const AttentionRows<T>& to, const float (&made)[kDim / 8][4],
                                             int there, int dim, float low, float high,
                                             const AttentionLane& lane) {
  using Made = Operands<T>;
  using Piece = Several<T, Made::kBeside>;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = lane.g + r * 8;
    if (row >= there) continue;
#pragma unroll
    for (int piece = 0; piece < kDim / 4 / Made::kBeside; ++piece) {
      const int first = Made::column(piece, lane);
      Piece values;
#pragma unroll
      for (int k = 0; k < Made::kBeside; ++k)
        values.value[k] = cast<T>(Made::taken(made, piece, k, r) * (r ? high : low));
      T* place = to.data + row * to.row + first * to.column;
      if (to.whole) {
        if (first < dim) *reinterpret_cast<Piece*>(place) = values;
      } else {
#pragma unroll
        for (int k = 0; k < Made::kBeside; ++k)
          if (first + k < dim) place[k * to.column] = values.value[k];
      }
    }
  }
}

// Products of a warp's own rows (queries, or keys: kOfKeys) and kRows others as scores, in powers of two; what is hidden is
// -inf.
template <class T, bool kOfKeys, bool kMasked, int kRows> void score(float (&scores)[kRows / 8][4],
                                                                     const AttentionCall& call,
                                                                     long long batch, long long head,
                                                                     long long own, long long from,
                                                                     const AttentionLane& lane) {
  constexpr float hidden = -std::numeric_limits<float>::infinity();
  const float factor = float(call.scale) * kLog2OfE;
  const long long own_rows = kOfKeys ? call.keys : call.queries, others = kOfKeys ? call.queries : call.keys;
  const bool all = own + 16 <= own_rows && from + kRows <= others &&
                   !(call.causal && (kOfKeys ? own + 15 > from : from + kRows - 1 > own));
#pragma unroll
  for (int n = 0; n < kRows / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[n][i] *= factor;
  if (all && !kMasked) return;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const long long row = own + lane.g + r * 8;
    // The others that are seen by this row.
    long long begin = 0, end = row < own_rows ? others - from : 0;
    if (call.causal && kOfKeys) begin = row - from;
    if (call.causal && !kOfKeys && row + 1 - from < end) end = row + 1 - from;
    const int first = int(begin < 0       ? 0
                          : begin < kRows ? begin
                                          : kRows),
              last = int(end < 0       ? 0
                         : end < kRows ? end
                                       : kRows);
#pragma unroll
    for (int n = 0; n < kRows / 8; ++n)
#pragma unroll
      for (int slot = 0; slot < 2; ++slot) {
        float& value = scores[n][2 * r + slot];
        const int other = n * 8 + lane.column(slot);
        if (other < first || other >= last) {
          value = hidden;
        } else if constexpr (kMasked) {
          const Places& mask = call.mask;
          const long long at = batch * mask.strides[3] + head * mask.strides[2] +
                               (kOfKeys ? from + other : row) * mask.strides[1] +
                               (kOfKeys ? row : from + other) * mask.strides[0];
          if (!call.mask_hides) value += float(static_cast<const T*>(mask.data)[at]) * kLog2OfE;
          else if (!static_cast<const bool*>(mask.data)[at]) value = hidden;
        }
      }
  }
}

// Over the four lanes of a row.
template <class F> float fold_four(float x, F f) {
  x = f(x, from_lane_across(x, 1));
  return f(x, from_lane_across(x, 2));
}

template <class T, int kDim, bool kMasked> void attention_forward(const AttentionCall& call) {
  using Tile = TileOf<T, kDim>;
  constexpr int keys = Tile::kKeys, stride = Tile::kStride, groups = Tile::kGroups, queries = Tile::kQueries;
  constexpr float none = -std::numeric_limits<float>::infinity();
  uint32_t* const query_room = launched_memory();
  uint32_t *const key_room = query_room + queries * stride, *const value_room = key_room + keys * stride;
  const AttentionLane lane;
  const long long tiles = (call.queries + queries - 1) / queries, outer = blockIdx.x / tiles;
  const long long head = outer % call.heads, batch = outer / call.heads, key_head = head / call.shared;
  // Where later queries see more keys, the last begin first.
  const long long tile = call.causal ? tiles - 1 - blockIdx.x % tiles : blockIdx.x % tiles;
  const long long first = tile * queries, own = first + lane.warp * 16 * groups;

  fetch_rows<T, kDim, queries>(query_room, {call.query, call.whole & 1, batch, head, first},
                               call.queries - first, call.dim);
  const AttentionRows<T> key_rows(call.key, call.whole & 2, batch, key_head, 0),
      value_rows(call.value, call.whole & 4, batch, key_head, 0);
  const auto fetch = [&](uint32_t* to, AttentionRows<T> rows, long long from, int dim) {
    rows.data += from * rows.row;
    fetch_rows<T, kDim, keys>(to, rows, call.keys - from, dim);
  };
  const long long end = call.causal && first + queries < call.keys ? first + queries : call.keys;
  float made[groups][Tile::kColumns][4] = {}, largest[groups][2], sum[groups][2] = {};
#pragma unroll
  for (int group = 0; group < groups; ++group) largest[group][0] = largest[group][1] = none;
  if (end > 0) fetch(key_room, key_rows, 0, call.dim);
  for (long long from = 0; from < end; from += keys) {
    copies_done();
    __syncthreads();
    fetch(value_room, value_rows, from, call.value_dim);
    const bool seen = !call.causal || from < own + 16 * groups;  // by any of the warp's rows
    float scores[groups][keys / 8][4];
    if (seen) {
      multiply_scores<T, kDim, keys, 4>(scores, query_room + lane.warp * 16 * groups * stride, key_room,
                                        lane);
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        score<T, false, kMasked, keys>(scores[group], call, batch, head, own + 16 * group, from, lane);
        float most[2] = {largest[group][0], largest[group][1]};
#pragma unroll
        for (int n = 0; n < keys / 8; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            most[i / 2] = std::fmax(most[i / 2], scores[group][n][i]);  // NaN is none
        float from_zero[2];  // what is taken from the scores of a row
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          most[r] = fold_four(most[r], [](float a, float b) { return std::fmax(a, b); });
          from_zero[r] = most[r] == none ? 0 : most[r];
          const float shrunk = power_of_two(largest[group][r] - from_zero[r]);
          largest[group][r] = most[r];
          sum[group][r] *= shrunk;
#pragma unroll
          for (int n = 0; n < Tile::kColumns; ++n) {
            made[group][n][2 * r] *= shrunk;
            made[group][n][2 * r + 1] *= shrunk;
          }
        }
#pragma unroll
        for (int n = 0; n < keys / 8; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            scores[group][n][i] = power_of_two(scores[group][n][i] - from_zero[i / 2]);
            sum[group][i / 2] += scores[group][n][i];
          }
      }
    }
    copies_done();
    __syncthreads();
    if (from + keys < end) fetch(key_room, key_rows, from + keys, call.dim);
    if (seen) multiply_rows<T, kDim, keys>(made, scores, value_room, lane);
  }

#pragma unroll
  for (int group = 0; group < groups; ++group) {
    float factor[2];
    const long long begin = own + 16 * group;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float total = fold_four(sum[group][r], [](float a, float b) { return a + b; });
      factor[r] = total == 0 ? 0 : 1 / total;  // a row that sees nothing is zero
      const long long row = begin + lane.g + r * 8;
      if (lane.t == 0 && row < call.queries)
        call.logsumexp[outer * call.queries + row] =
            total == 0 ? none : largest[group][r] * kLnOf2 + std::log(total);
    }
    const long long there = call.queries - begin < 16 ? call.queries - begin : 16;
    write_rows<T, kDim>({call.out, call.whole & 8, batch, head, begin}, made[group], int(there),
                        call.value_dim, factor[0], factor[1], lane);
  }
}

// rows [2, batch, heads, queries]: logarithms of the sums to base 2 (for rows that see nothing inf, so that their
// probabilities are zero), and sums of results times their gradients.
template <class T> void attention_prepared(const AttentionCall& call) {
  const long long count = call.batch * call.heads * call.queries;
  for (long long at = first_row(); at < count; at += row_step()) {
    const long long row = at % call.queries, outer = at / call.queries;
    const AttentionRows<const T> made(call.out, 0, outer / call.heads, outer % call.heads, row),
        gradient(call.gradient, 0, outer / call.heads, outer % call.heads, row);
    float sum = 0;
    for (int i = int(threadIdx.x); i < call.value_dim; i += 32)
      sum += float(made.data[i * made.column]) * float(gradient.data[i * gradient.column]);
    sum = fold_warp(sum, [](float a, float b) { return a + b; });
    if (threadIdx.x != 0) continue;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const float logarithm = call.logsumexp[at];
    call.rows[at] = logarithm == -infinity ? infinity : logarithm * kLog2OfE;
    call.rows[count + at] = sum;
  }
}

// kOfKeys: the block's own rows are keys and values, those that come and go queries and gradients of their results; otherwise
// the other way round.
template <class T, int kDim, bool kMasked, bool kOfKeys> void attention_backward(const AttentionCall& call) {
  using Tile = TileOf<T, kDim>;
  constexpr int others = Tile::kOtherRows, stride = Tile::kStride;
  uint32_t* const own_room = launched_memory();
  uint32_t* const other_room = own_room + Tile::kOwnWords;  // twice, and then twice numbers of rows
  float* const row_room = reinterpret_cast<float*>(other_room + 2 * Tile::kOtherWords);
  const AttentionLane lane;
  const long long own_rows = kOfKeys ? call.keys : call.queries,
                  other_rows = kOfKeys ? call.queries : call.keys;
  const long long own_heads = kOfKeys ? call.heads / call.shared : call.heads;
  const long long tiles = (own_rows + kOwnRows - 1) / kOwnRows, outer = blockIdx.x / tiles;
  const long long own_head = outer % own_heads, batch = outer / own_heads;
  const long long tile = call.causal && !kOfKeys ? tiles - 1 - blockIdx.x % tiles : blockIdx.x % tiles;
  const long long first = tile * kOwnRows, own = first + lane.warp * 16;
  const Places& first_place = kOfKeys ? call.key : call.query;
  const Places& second_place = kOfKeys ? call.value : call.gradient;
  const Places& other_first = kOfKeys ? call.query : call.key;
  const Places& other_second = kOfKeys ? call.gradient : call.value;
  const int first_whole = kOfKeys ? 2 : 1, second_whole = kOfKeys ? 4 : 16;
  const int other_first_whole = kOfKeys ? 1 : 2, other_second_whole = kOfKeys ? 16 : 4;
  const long long count = call.batch * call.heads * call.queries;

  // The rows of the other side from where any is seen to where the last is; of keys, for each head that shares them.
  long long begin = 0, end = other_rows;
  if (call.causal && kOfKeys) begin = first / others * others;
  if (call.causal && !kOfKeys && first + kOwnRows < end) end = first + kOwnRows;
  const long long steps = end > begin ? (end - begin + others - 1) / others : 0;
  const long long turns = kOfKeys ? steps * call.shared : steps;
  const auto head_at = [&](long long turn) {
    return kOfKeys ? own_head * call.shared + turn / steps : own_head;
  };
  const auto fetch = [&](long long turn) {
    const long long head = head_at(turn), from = begin + (kOfKeys ? turn % steps : turn) * others;
    const long long other_head = kOfKeys ? head : own_head / call.shared;
    uint32_t* const room = other_room + turn % 2 * Tile::kOtherWords;
    fetch_rows<T, kDim, others>(room, {other_first, call.whole & other_first_whole, batch, other_head, from},
                                other_rows - from, call.dim);
    fetch_rows<T, kDim, others>(room + others * stride,
                                {other_second, call.whole & other_second_whole, batch, other_head, from},
                                other_rows - from, call.value_dim);
    if (kOfKeys && int(threadIdx.x) < 2 * others) {
      const long long row = from + int(threadIdx.x) % others;
      row_room[turn % 2 * 2 * others + int(threadIdx.x)] =
          row < call.queries ? call.rows[int(threadIdx.x) / others * count +
                                         (batch * call.heads + head) * call.queries + row]
                             : 0;
    }
  };

  fetch_rows<T, kDim, kOwnRows>(own_room, {first_place, call.whole & first_whole, batch, own_head, first},
                                own_rows - first, call.dim);
  fetch_rows<T, kDim, kOwnRows>(own_room + kOwnRows * stride,
                                {second_place, call.whole & second_whole, batch, own_head, first},
                                own_rows - first, call.value_dim);
  float logarithm[2], dot[2];  // of a lane's own rows
  if constexpr (!kOfKeys)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const long long row = own + lane.g + r * 8, at = outer * call.queries + row;
      logarithm[r] = row < call.queries ? call.rows[at] : 0;
      dot[r] = row < call.queries ? call.rows[count + at] : 0;
    }
  const uint32_t* const own_first = own_room + lane.warp * 16 * stride;
  const uint32_t* const own_second = own_first + kOwnRows * stride;
  float to_first[1][Tile::kColumns][4] = {}, to_second[1][kOfKeys ? Tile::kColumns : 1][4] = {};
  if (turns > 0) fetch(0);
  for (long long turn = 0; turn < turns; ++turn) {
    copies_done();
    __syncthreads();
    if (turn + 1 < turns) fetch(turn + 1);
    const uint32_t* const room = other_room + turn % 2 * Tile::kOtherWords;
    const float* const numbers = row_room + turn % 2 * 2 * others;
    const long long from = begin + (kOfKeys ? turn % steps : turn) * others;
    constexpr int together = kOfKeys ? 2 : 4;  // what is left of the registers
    float scores[1][others / 8][4], slopes[1][others / 8][4];
    multiply_scores<T, kDim, others, together>(scores, own_first, room, lane);
    score<T, kOfKeys, kMasked, others>(scores[0], call, batch, head_at(turn), own, from, lane);
    const auto over_all = [&](auto f) {
#pragma unroll
      for (int n = 0; n < others / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) f(scores[0][n][i], slopes[0][n][i], i / 2, n * 8 + lane.column(i % 2));
    };
    over_all([&](float& score, float&, int r, int other) {
      score = power_of_two(score - (kOfKeys ? numbers[other] : logarithm[r]));
    });
    if constexpr (kOfKeys) multiply_rows<T, kDim, others>(to_second, scores, room + others * stride, lane);
    multiply_scores<T, kDim, others, together>(slopes, own_second, room + others * stride, lane);
    over_all([&](float score, float& slope, int r, int other) {
      slope = score * (slope - (kOfKeys ? numbers[others + other] : dot[r]));
    });
    multiply_rows<T, kDim, others>(to_first, slopes, room, lane);
  }

  const int there = int(own_rows - own < 16 ? own_rows - own : 16);
  const float scale = float(call.scale);
  if constexpr (kOfKeys) {
    write_rows<T, kDim>({call.grad_key, call.whole & 64, batch, own_head, own}, to_first[0], there, call.dim,
                        scale, scale, lane);
    write_rows<T, kDim>({call.grad_value, call.whole & 128, batch, own_head, own}, to_second[0], there,
                        call.value_dim, 1, 1, lane);
  } else {
    write_rows<T, kDim>({call.grad_query, call.whole & 32, batch, own_head, own}, to_first[0], there,
                        call.dim, scale, scale, lane);
  }
}

}  // namespace mt::cuda
