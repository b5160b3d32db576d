// softmax(query @ key^T * scale + mask) @ value without the matrix of all scores, and its gradients.
//
// Launch (AttentionCall, by value); T is float, Half or BFloat16, dim 32 (float only), 64 or 128, no less than dim and value_dim:
//   attention_forward<T, dim, masked>         grid batch * heads * ceil(queries / rows)
//   attention_prepared<T>                     block (32, any), any grid: what backward needs of each row
//   attention_backward<T, dim, masked, true>  grid batch * key_heads * ceil(keys / rows): gradients of key and value
//   attention_backward<T, dim, masked, false> grid batch * heads * ceil(queries / rows): that of the query
// Rows and threads of a block and its shared memory are in attention_tile.h. Sums are taken in a fixed order.
//
// Note [Attention by tensor cores]
// A warp has 16 or 32 rows of a product (32: what comes from the other side is read once for both) and walks over the other
// side in steps of 8 columns. A lane's scores are its part of the left operand of the second product, so they never leave its
// registers.
// A float is the sum of two numbers of TF32, and a product of floats three of theirs; what is left out is below 2^-20 of it.
// Tensor cores cut off what a sum has too many digits for, always towards zero, so that long sums of floats would lose more
// than they have in float32: theirs are short (a tile's, and the small products apart from the big ones), and are added up by
// ordinary additions. Halves are multiplied as they are. Everything is summed in float.
#pragma once

#include "backends/cuda/device/attention_floats.h"
#include "backends/cuda/device/attention_halves.h"

namespace mt::cuda {

inline constexpr float kLog2OfE = 1.44269504f, kLnOf2 = 0.693147181f;

// Scores of a warp's own rows (queries, or keys: kOfKeys) and kRows others, in powers of two where there is a mask; what is
// hidden becomes -inf.
template <class T, int kDim, bool kOfKeys, bool kMasked, int kRows> void hide(float (&scores)[kRows / 8][4],
                                                                              const AttentionCall& call,
                                                                              long long batch, long long head,
                                                                              int own, int from,
                                                                              const AttentionLane& lane) {
  constexpr float hidden = -std::numeric_limits<float>::infinity();
  const int own_rows = int(kOfKeys ? call.keys : call.queries),
            others = int(kOfKeys ? call.queries : call.keys);
  const bool all =
      from + kRows <= others && !(call.causal && (kOfKeys ? own + 15 > from : from + kRows - 1 > own));
  if (all && !kMasked) return;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = own + lane.g + r * 8;
    // The others that are seen by this row.
    const int first = call.causal && kOfKeys ? row - from : 0;
    int last = row < own_rows ? others - from : 0;
    if (call.causal && !kOfKeys && row + 1 - from < last) last = row + 1 - from;
#pragma unroll
    for (int n = 0; n < kRows / 8; ++n)
#pragma unroll
      for (int slot = 0; slot < 2; ++slot) {
        float& value = scores[n][2 * r + slot];
        const int other = n * 8 + Products<T, kDim>::column(slot, lane);
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

// Which of the tiles of which head a block has. Where later rows see more (last_first), the last begin first.
struct AttentionShare {
  int first;  // row
  unsigned outer;
  AttentionShare(long long rows, int of_block, bool last_first) {
    const unsigned tiles = unsigned(rows + of_block - 1) / of_block, outers = gridDim.x / tiles,
                   own = blockIdx.x / outers;
    first = int(last_first ? tiles - 1 - own : own) * of_block;
    outer = blockIdx.x % outers;
  }
};

// Scores of 16 rows become powers of two, after the largest of each row so far is taken from them; all that came before
// shrinks by `shrunk` when that grows.
template <int kRows> void soften(float (&scores)[kRows / 8][4], float factor, float (&largest)[2],
                                 float (&sum)[2], float (&shrunk)[2]) {
  constexpr float none = -std::numeric_limits<float>::infinity();
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float most = none;
#pragma unroll
    for (int n = 0; n < kRows / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) most = std::fmax(most, scores[n][2 * r + i]);  // NaN is none
    most = fold_four(most, [](float a, float b) { return std::fmax(a, b); });
    most = std::fmax(largest[r], rounded_product(most, factor));
    const float from_zero = most == none ? 0 : most;  // what is taken from the scores
    shrunk[r] = power_of_two(largest[r] - from_zero);
    largest[r] = most;
    sum[r] *= shrunk[r];
#pragma unroll
    for (int n = 0; n < kRows / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& score = scores[n][2 * r + i];
        score = power_of_two(score * factor - from_zero);
        sum[r] += score;
      }
  }
}

template <class T, int kDim, bool kMasked> void attention_forward(const AttentionCall& call) {
  using Tile = ForwardTile<int(sizeof(T)), kDim>;
  using Product = Products<T, kDim>;
  constexpr int keys = Tile::kKeys, stride = Tile::kStride, groups = Tile::kGroups, queries = Tile::kOwnRows,
                threads = Tile::kWarps * 32, room_words = keys * stride;
  constexpr float none = -std::numeric_limits<float>::infinity();
  uint32_t* const query_room = launched_memory();
  uint32_t* const rooms = query_room + queries * stride;  // of keys and then of values; kTwice: twice
  const AttentionLane lane;
  const AttentionShare share(call.queries, queries, call.causal);
  const int first = share.first, own = first + lane.warp * 16 * groups;
  const unsigned outer = share.outer, head = outer % unsigned(call.heads),
                 batch = outer / unsigned(call.heads), key_head = head / unsigned(call.shared);
  const int end = int(call.causal && first + queries < call.keys ? (long long)(first + queries) : call.keys);

  ComingRows<T, kDim, queries, threads>(call.query, batch, head, first)
      .fetch(query_room, call.query, call.whole & 1, int(call.queries), call.dim);
  ComingRows<T, kDim, keys, threads> coming_keys(call.key, batch, key_head, 0),
      coming_values(call.value, batch, key_head, 0);
  const auto fetch_keys = [&](uint32_t* to) {
    coming_keys.fetch(to, call.key, call.whole & 2, int(call.keys), call.dim);
  };
  const auto fetch_values = [&](uint32_t* to) {
    coming_values.fetch(to, call.value, call.whole & 4, int(call.keys), call.value_dim);
  };
  if (end > 0) {
    fetch_keys(rooms);
    if constexpr (Tile::kTwice) fetch_values(rooms + room_words);
  }
  if (Tile::kKept || end == 0) {  // without keys nothing else waits for the queries
    copies_done();
    __syncthreads();
  }
  uint32_t* const own_room = query_room + lane.warp * 16 * groups * stride;
  const typename Product::template Own<groups, Tile::kKept> own_rows(own_room, lane);

  // What is hidden must stay the smallest.
  const float scale = float(call.scale) * kLog2OfE;
  const bool scaled_first = kMasked || !(scale > 0);
  const float factor = scaled_first ? 1.0f : scale;
  float made[groups][Product::kColumns][4] = {}, largest[groups][2], sum[groups][2] = {};
#pragma unroll
  for (int group = 0; group < groups; ++group) largest[group][0] = largest[group][1] = none;
  int side = 0;
  for (int from = 0; from < end; from += keys) {
    uint32_t *const key_room = rooms + side, *const value_room = key_room + room_words;
    const bool more = from + keys < end;
    copies_done();
    __syncthreads();
    if constexpr (Tile::kTwice) {
      side = 2 * room_words - side;
      if (more) {
        fetch_keys(rooms + side);
        fetch_values(rooms + side + room_words);
      }
    } else {
      fetch_values(value_room);
    }
    const bool seen = !call.causal || from < own + 16 * groups;  // by any of the warp's rows
    float scores[groups][keys / 8][4] = {};
    if (seen) {
      Product::template multiply_scores<keys, 4>(scores, own_rows, key_room, lane);
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        if (scaled_first)
#pragma unroll
          for (int n = 0; n < keys / 8; ++n)
#pragma unroll
            for (float& score : scores[group][n]) score *= scale;
        hide<T, kDim, false, kMasked, keys>(scores[group], call, batch, head, own + 16 * group, from, lane);
        float shrunk[2];
        soften<keys>(scores[group], factor, largest[group], sum[group], shrunk);
#pragma unroll
        for (int n = 0; n < Product::kColumns; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i) made[group][n][i] *= shrunk[i / 2];
      }
    }
    if constexpr (!Tile::kTwice) {
      copies_done();
      __syncthreads();
      if (more) fetch_keys(key_room);
    }
    if (seen) Product::template multiply_rows<keys>(made, scores, value_room, lane);
  }

  float factors[groups][2];
#pragma unroll
  for (int group = 0; group < groups; ++group)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float total = fold_four(sum[group][r], [](float a, float b) { return a + b; });
      factors[group][r] = total == 0 ? 0 : 1 / total;  // a row that sees nothing is zero
      const int row = own + 16 * group + lane.g + r * 8;
      if (lane.t == 0 && row < call.queries)
        call.logsumexp[outer * call.queries + row] =
            total == 0 ? none : largest[group][r] * kLnOf2 + std::log(total);
    }
  Product::template write<groups>({call.out, call.whole & 8, batch, head, own}, made, call.queries - own,
                                  call.value_dim, factors, own_room, lane);
}

// rows [2, batch, heads, queries]: logarithms of the sums to base 2 (for rows that see nothing inf, so that their
// probabilities are zero), and sums of results times their gradients. A warp has several rows at a time.
template <class T> void attention_prepared(const AttentionCall& call) {
  constexpr int each = 16 / int(sizeof(T)), lanes = 32 / kPreparedRows;
  using Piece = Several<T, each>;
  const long long count = call.batch * call.heads * call.queries;
  const int own = int(threadIdx.x) / lanes, lane = int(threadIdx.x) % lanes;
  const bool whole = (call.whole & 8) && (call.whole & 16);
  for (long long begin = kPreparedRows * first_row(); begin < count; begin += kPreparedRows * row_step()) {
    const bool exists = begin + own < count;
    const unsigned at = unsigned(exists ? begin + own : begin), row = at % unsigned(call.queries),
                   outer = at / unsigned(call.queries), head = outer % unsigned(call.heads),
                   batch = outer / unsigned(call.heads);
    const AttentionRows<const T> made(call.out, 0, batch, head, row),
        gradient(call.gradient, 0, batch, head, row);
    float sum = 0;
    for (int first = lane * each; first < call.value_dim; first += lanes * each) {
      if (whole) {
        const Piece x = *reinterpret_cast<const Piece*>(made.data + first),
                    y = *reinterpret_cast<const Piece*>(gradient.data + first);
#pragma unroll
        for (int k = 0; k < each; ++k) sum += float(x.value[k]) * float(y.value[k]);
      } else {
#pragma unroll
        for (int k = 0; k < each; ++k)
          if (first + k < call.value_dim)
            sum += float(made.data[(first + k) * made.column]) *
                   float(gradient.data[(first + k) * gradient.column]);
      }
    }
#pragma unroll
    for (int mask = 1; mask < lanes; mask *= 2) sum += from_lane_across(sum, mask);
    if (lane != 0 || !exists) continue;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const float logarithm = call.logsumexp[at];
    call.rows[at] = logarithm == -infinity ? infinity : logarithm * kLog2OfE;
    call.rows[count + at] = sum;
  }
}

// kOfKeys: the block's own rows are keys and values, those that come and go queries and gradients of their results; otherwise
// the other way round.
template <class T, int kDim, bool kMasked, bool kOfKeys> void attention_backward(const AttentionCall& call) {
  using Tile = BackwardTile<int(sizeof(T)), kDim, kOfKeys>;
  using Product = Products<T, kDim>;
  constexpr int others = Tile::kOtherRows, stride = Tile::kStride, groups = Tile::kGroups,
                block_rows = Tile::kOwnRows, threads = Tile::kWarps * 32;
  static_assert(2 * others <= threads);  // each fetches a number
  uint32_t* const own_room = launched_memory();
  uint32_t* const other_room = own_room + Tile::kOwnWords;  // twice, and then twice numbers of rows
  float* const row_room = reinterpret_cast<float*>(other_room + 2 * Tile::kOtherWords);
  const AttentionLane lane;
  const int own_rows = int(kOfKeys ? call.keys : call.queries),
            other_rows = int(kOfKeys ? call.queries : call.keys);
  const unsigned shared = unsigned(call.shared), heads = unsigned(call.heads),
                 own_heads = kOfKeys ? heads / shared : heads;
  const AttentionShare share(own_rows, block_rows, call.causal && !kOfKeys);
  const unsigned outer = share.outer, own_head = outer % own_heads, batch = outer / own_heads;
  const int first = share.first, own = first + lane.warp * 16 * groups;
  const Places& first_place = kOfKeys ? call.key : call.query;
  const Places& second_place = kOfKeys ? call.value : call.gradient;
  const Places& other_first = kOfKeys ? call.query : call.key;
  const Places& other_second = kOfKeys ? call.gradient : call.value;
  const int first_whole = kOfKeys ? 2 : 1, second_whole = kOfKeys ? 4 : 16;
  const int other_first_whole = kOfKeys ? 1 : 2, other_second_whole = kOfKeys ? 16 : 4;
  const long long count = call.batch * call.heads * call.queries;

  // The rows of the other side from where any is seen to where the last is; of keys, for each head that shares them.
  const int begin = call.causal && kOfKeys ? first / others * others : 0;
  const int end =
      call.causal && !kOfKeys && first + block_rows < other_rows ? first + block_rows : other_rows;
  unsigned head = kOfKeys ? own_head * shared : own_head;
  const unsigned last_head = kOfKeys && begin < end ? head + shared : head + 1;
  using Coming = ComingRows<T, kDim, others, threads>;
  unsigned fetched_head = head;
  Coming coming_first(other_first, batch, kOfKeys ? head : head / shared, begin),
      coming_second(other_second, batch, kOfKeys ? head : head / shared, begin);
  int fetched = begin;
  // What comes next goes to one of the two sides.
  const auto fetch = [&](int side) {
    if (kOfKeys && fetched >= end) {
      fetched = begin;
      if (++fetched_head >= last_head) return;
      coming_first = Coming(other_first, batch, fetched_head, begin);
      coming_second = Coming(other_second, batch, fetched_head, begin);
    }
    if (fetched >= end) return;
    uint32_t* const room = other_room + side * Tile::kOtherWords;
    coming_first.fetch(room, other_first, call.whole & other_first_whole, other_rows, call.dim);
    coming_second.fetch(room + others * stride, other_second, call.whole & other_second_whole, other_rows,
                        call.value_dim);
    if (kOfKeys && int(threadIdx.x) < 2 * others) {
      const int which = int(threadIdx.x) / others, row = fetched + int(threadIdx.x) % others;
      copy_number_later(row_room + side * 2 * others + int(threadIdx.x),
                        call.rows + which * count + (batch * call.heads + fetched_head) * call.queries + row,
                        row < other_rows);
    }
    fetched += others;
  };

  ComingRows<T, kDim, block_rows, threads>(first_place, batch, own_head, first)
      .fetch(own_room, first_place, call.whole & first_whole, own_rows, call.dim);
  ComingRows<T, kDim, block_rows, threads>(second_place, batch, own_head, first)
      .fetch(own_room + block_rows * stride, second_place, call.whole & second_whole, own_rows,
             call.value_dim);
  float logarithm[groups][2], dot[groups][2];  // of a lane's own rows
  if constexpr (!kOfKeys)
#pragma unroll
    for (int group = 0; group < groups; ++group)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = own + group * 16 + lane.g + r * 8;
        const long long at = outer * call.queries + row;
        logarithm[group][r] = row < own_rows ? call.rows[at] : 0;
        dot[group][r] = row < own_rows ? call.rows[count + at] : 0;
      }
  uint32_t* const first_room = own_room + lane.warp * 16 * groups * stride;
  uint32_t* const second_room = first_room + block_rows * stride;
  fetch(0);
  copies_done();
  __syncthreads();
  const typename Product::template Own<groups, (Tile::kKept & 1) != 0> own_first(first_room, lane);
  const typename Product::template Own<groups, (Tile::kKept & 2) != 0> own_second(second_room, lane);
  const float scale = float(call.scale) * kLog2OfE;
  float to_first[groups][Product::kColumns][4] = {},
        to_second[kOfKeys ? groups : 1][kOfKeys ? Product::kColumns : 1][4] = {};
  int side = 0;
  for (int from = begin; from < end;) {
    copies_done();
    __syncthreads();
    fetch(1 - side);
    const uint32_t* const room = other_room + side * Tile::kOtherWords;
    const float* const numbers = row_room + side * 2 * others;
    constexpr int together = kOfKeys ? 2 : 4;  // what is left of the registers
    float scores[groups][others / 8][4] = {}, slopes[groups][others / 8][4];
    const auto over_all = [&](auto f) {
#pragma unroll
      for (int n = 0; n < others / 8; ++n)
#pragma unroll
        for (int slot = 0; slot < 2; ++slot) {
          const int other = n * 8 + Product::column(slot, lane);
#pragma unroll
          for (int group = 0; group < groups; ++group)
#pragma unroll
            for (int r = 0; r < 2; ++r)
              f(scores[group][n][2 * r + slot], slopes[group][n][2 * r + slot], group, r, other);
        }
    };
    Product::template multiply_scores<others, together>(scores, own_first, room, lane);
    over_all([&](float& score, float&, int group, int r, int other) {
      score = score * scale - (kOfKeys ? numbers[other] : logarithm[group][r]);
    });
#pragma unroll
    for (int group = 0; group < groups; ++group)
      hide<T, kDim, kOfKeys, kMasked, others>(scores[group], call, batch, head, own + 16 * group, from, lane);
    over_all([&](float& score, float&, int, int, int) { score = power_of_two(score); });
    if constexpr (kOfKeys)
      Product::template multiply_rows<others>(to_second, scores, room + others * stride, lane);
    over_all([&](float, float& slope, int group, int r, int other) {
      slope = -(kOfKeys ? numbers[others + other] : dot[group][r]);
    });
    Product::template multiply_scores<others, together>(slopes, own_second, room + others * stride, lane);
    over_all([&](float& score, float& slope, int, int, int) { slope *= score; });
    Product::template multiply_rows<others>(to_first, slopes, room, lane);
    side = 1 - side;
    from += others;
    if (kOfKeys && from >= end && ++head < last_head) from = begin;
  }

  float factors[groups][2];
  const auto set_factors = [&](float to) {
#pragma unroll
    for (int group = 0; group < groups; ++group) factors[group][0] = factors[group][1] = to;
  };
  set_factors(float(call.scale));
  if constexpr (kOfKeys) {
    Product::template write<groups>({call.grad_key, call.whole & 64, batch, own_head, own}, to_first,
                                    own_rows - own, call.dim, factors, first_room, lane);
    set_factors(1);
    Product::template write<groups>({call.grad_value, call.whole & 128, batch, own_head, own}, to_second,
                                    own_rows - own, call.value_dim, factors, second_room, lane);
  } else {
    Product::template write<groups>({call.grad_query, call.whole & 32, batch, own_head, own}, to_first,
                                    own_rows - own, call.dim, factors, first_room, lane);
  }
}

}  // namespace mt::cuda
