// alpha * left @ right + beta * self + bias of floats, by tensor cores of sm_90.
//
// Launch (FloatProductCall, by value):
//   FloatProduct<tile, left along, right along, left whole, right whole>::run   grid: any, the more the processors
//   float_product_added   block 256, any grid: adds the parts of a product that is split over the inner dimension
// along: memory goes along the inner dimension, otherwise along rows (of left) or columns (of right); whole: 16 bytes
// of it may be read at once. Tiles, threads and shared memory are in float_products_tile.h. Sums are taken in a fixed
// order.
//
// Note [Products of floats]
// A float is the sum of two numbers of TF32, big and small, both rounded, and a product of floats three of theirs: what
// is left out is below 2^-21 of it. Tensor cores cut off what a sum has too many digits for, so theirs are short: the
// small products of 16 steps of the inner dimension and then their big ones, after which ordinary additions take over.
// The result is nearer to that of float64 than a chain of float32 additions is.
// The left operand goes through registers, where it is split. The right one must be in shared memory, along the inner
// dimension: a group of warps fetches both sides two steps ahead, and splits and turns the right one of the next step
// while two groups multiply. The 8 words that a product takes of the inner dimension may be any, as long as both sides
// agree: lane t of four has words 4 t .. 4 t + 3 of 16, which lie together.
// A block goes from one tile of the result to the next without a pause for what comes first.
// An infinity has no small part (it is NaN), and a sum that leaves the range on its way may do so in another order:
// what does not come out finite is computed again as float32 does it, slowly. Below the normal numbers TF32's are 2^-136
// apart: of a number below 2^-114 as much as that may be lost, and all of one below 2^-136.
#pragma once

#include <warpgroup_products.h>

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/calls.h"
#include "backends/cuda/device/float_products_tile.h"
#include "backends/cuda/device/split_floats.h"

namespace mt::cuda {

using FourFloats = Several<float, 4>;
using FourWords = Several<uint32_t, 4>;

// What a block has of a product: a tile of the result, and of the inner dimension all or a part.
struct FloatProductShare {
  int row, column, begin, end;
  long long batch, piece;

  // Tiles that are worked on at the same time are near each other, so that they read the same.
  template <class Tile> static FloatProductShare of(const FloatProductCall& call, unsigned number) {
    constexpr int band = 8;
    const unsigned tiles = unsigned(call.row_tiles) * call.column_tiles, outer = number / tiles;
    const int tile = int(number % tiles), first = tile / (band * call.column_tiles) * band;
    const int rows = call.row_tiles - first < band ? call.row_tiles - first : band;
    const int within = tile - first * call.column_tiles;
    FloatProductShare made;
    made.row = (first + within % rows) * Tile::kRows;
    made.column = within / rows * Tile::kColumns;
    made.piece = outer % unsigned(call.pieces);
    made.batch = outer / unsigned(call.pieces);
    made.begin = int(made.piece) * call.each;
    made.end = call.inner - made.begin < call.each ? call.inner : made.begin + call.each;
    return made;
  }
};

// One side of a product: kLines rows (of left) or columns (of right) by 32 of the inner dimension, on their way to
// shared memory. A thread of those that prepare has the same 16 bytes of some lines every time; what does not exist is
// zero.
template <class Tile, int kLines, bool kAlong, bool kWhole> struct FloatProductSide {
  static constexpr int kPieces = (kAlong ? Tile::kInner : kLines) / 4, kAtOnce = Tile::kPrepare / kPieces;
  static constexpr int kMemoryLines = kAlong ? kLines : Tile::kInner, kStride = kPieces * 4;

  const float* source;
  long long step;    // from one line of memory to the next
  int lines, inner;  // that are left from this thread's first on

  static int thread() { return int(threadIdx.x) - Tile::kMultiply; }
  static int piece() { return thread() % kPieces; }
  static int own_line() { return thread() / kPieces; }
  // 16 bytes of a line of memory lie at piece ^ turned(line), by which lanes that read at the same time meet in no
  // bank.
  static int turned(int line) {
    return kAlong ? (line >> 2 & 1) * 4 | (line >> 3 & 1) * 2 | (line & 1) : (line >> 2 & 3) * 2;
  }

  FloatProductSide(const float* data, long long step, int first_line, int first_inner, int lines, int inner)
      : step(step) {
    const int line = first_line + (kAlong ? own_line() : 4 * piece()),
              at = first_inner + (kAlong ? 4 * piece() : own_line());
    source = data + (kAlong ? line : at) * step + (kAlong ? at : line);
    this->lines = lines - line;
    this->inner = inner - at;
  }

  void fetch(uint32_t* to) {
    if (kAtOnce * kPieces != Tile::kPrepare && own_line() >= kAtOnce) return;
    const int numbers = kAlong ? inner : lines, count = numbers < 0 ? 0 : numbers < 4 ? numbers : 4;
#pragma unroll
    for (int line = 0; line < kMemoryLines; line += kAtOnce) {
      const int own = line + own_line();
      if (kMemoryLines % kAtOnce != 0 && own >= kMemoryLines) break;
      uint32_t* const room = to + own * kStride + (piece() ^ turned(own)) * 4;
      const float* const from = source + line * step;
      const int exist = line < (kAlong ? lines : inner) ? count : 0;
      if constexpr (kWhole) {
        copy_some_later(room, from, exist);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i)
          copy_number_later(reinterpret_cast<float*>(room + i), from + i, i < exist);
      }
    }
    source += kAlong ? Tile::kInner : Tile::kInner * step;
    inner -= Tile::kInner;
  }
};

// Four numbers of a result from `column` on, on their way to memory; `self` is where they are of that.
inline void put_result(const FloatProductCall& call, float* to, const float* self, int column,
                       FourFloats numbers) {
  const int count = call.columns - column;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    numbers.value[k] *= call.alpha;
    if (call.self != nullptr && k < count) numbers.value[k] += call.beta * self[k];
    if (call.bias != nullptr && k < count) numbers.value[k] += call.bias[column + k];
  }
  if (count >= 4 && call.whole_out) {
    *reinterpret_cast<FourFloats*>(to) = numbers;
  } else {
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (k < count) to[k] = numbers.value[k];
  }
}

// kLeftAlong and so on: as above. What a lane has of a product by four warps is said at multiply_tf32().
template <class Tile, bool kLeftAlong, bool kRightAlong, bool kLeftWhole,
          bool kRightWhole> struct FloatProduct {
  using Left = FloatProductSide<Tile, Tile::kRows, kLeftAlong, kLeftWhole>;
  using Right = FloatProductSide<Tile, Tile::kColumns, kRightAlong, kRightWhole>;
  static constexpr int kWide = Tile::kWide, kParts = Tile::kParts, kInner = Tile::kInner;
  using Part = float[kWide / 8][4];

  static uint32_t* split_room() { return launched_wide_memory(); }
  static uint32_t* coming_room() { return launched_wide_memory() + 2 * Tile::kSplitWords; }

  // The column that is the n-th of a right operand: a lane's columns of 16 are four that lie together.
  static int column_of(int n) { return (n & ~15) | (n & 6) * 2 | (n & 8) / 4 | (n & 1); }
  // The first of the two rows of 16 that are a lane's, which are neighbours.
  static int row_of(int g) { return 2 * ((g & 4) | (g & 1) * 2 | (g & 2) / 2); }

  // 16 words of a column as they come.
  static void read_column(uint32_t (&words)[16], const uint32_t* room, int column, int half) {
    if constexpr (kRightAlong) {
#pragma unroll
      for (int piece = 0; piece < 4; ++piece) {
        const int at = (4 * half + piece) ^ Right::turned(column);
        const FourWords four = *reinterpret_cast<const FourWords*>(room + column * Right::kStride + at * 4);
#pragma unroll
        for (int k = 0; k < 4; ++k) words[4 * piece + k] = four.value[k];
      }
    } else {
#pragma unroll
      for (int k = 0; k < 16; ++k)
        words[k] = room[(16 * half + k) * Right::kStride + (column / 4 ^ Right::turned(k)) * 4 + column % 4];
    }
  }
  // Columns as products want them: big words, and small ones behind them.
  static void split_columns(uint32_t* to, const uint32_t* room) {
    for (int i = Right::thread(); i < 2 * Tile::kColumns; i += Tile::kPrepare) {
      const int n = i % Tile::kColumns, half = i / Tile::kColumns;
      uint32_t words[16];
      read_column(words, room, column_of(n), half);
#pragma unroll
      for (int piece = 0; piece < 4; ++piece) {
        FourWords big, small;
#pragma unroll
        for (int k = 0; k < 4; ++k) split_rounded(words[4 * k + piece], big.value[k], small.value[k]);
        uint32_t* const there = to + n * kInner + ((4 * half + piece) ^ (n & 7)) * 4;
        *reinterpret_cast<FourWords*>(there) = big;
        *reinterpret_cast<FourWords*>(there + Tile::kRightWords) = small;
      }
    }
    wide_operands_written();
  }

  // A lane's part of 16 rows by 16 of the inner dimension: left operands of two products.
  struct Rows {
    uint32_t big[2][4], small[2][4];

    void read(const uint32_t* room, int row, int half, int t) {
      uint32_t words[2][4];
      if constexpr (kLeftAlong) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int at = (4 * half + t) ^ Left::turned(row + i);
          const auto four = *reinterpret_cast<const FourWords*>(room + (row + i) * Left::kStride + at * 4);
#pragma unroll
          for (int k = 0; k < 4; ++k) words[i][k] = four.value[k];
        }
      } else {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int at = row / 4 ^ Left::turned(4 * t);
          const auto two = *reinterpret_cast<const Several<uint32_t, 2>*>(
              room + (16 * half + 4 * t + k) * Left::kStride + at * 4 + row % 4);
          words[0][k] = two.value[0];
          words[1][k] = two.value[1];
        }
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int k = 0; k < 4; ++k)
          split_rounded(words[i][k], big[k / 2][i + k % 2 * 2], small[k / 2][i + k % 2 * 2]);
    }
  };

  static void begin_products(Part& to, const Rows& rows, const uint32_t* split, int part, int half) {
    const uint64_t big = wide_operand(split + part * kWide * kInner, 16 * half),
                   small = wide_operand(split + Tile::kRightWords + part * kWide * kInner, 16 * half);
    constexpr int next = 32 / 16;  // 8 words, in 16 bytes
    using Product = WideProduct<kWide>;
    wide_begins();
    Product::begin(to, rows.small[0], big);
    Product::add(to, rows.big[0], small);
    Product::add(to, rows.small[1], big + next);
    Product::add(to, rows.big[1], small + next);
    Product::add(to, rows.big[0], big);
    Product::add(to, rows.big[1], big + next);
    wide_begun();
  }
  static void add(Part& to, const Part& from) {
#pragma unroll
    for (int n = 0; n < kWide / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        to[n][i] += from[n][i];
        stays_here(to[n][i]);
      }
  }

  // The group that prepares. While the others multiply a step, it fetches the one after the next and splits the next.
  static void prepare(const FloatProductCall& call) {
    unsigned number = blockIdx.x;
    FloatProductShare share = FloatProductShare::of<Tile>(call, number);
    const auto left_of = [&] {
      return Left(call.left + share.batch * call.left_batch, call.left_step, share.row, share.begin,
                  call.rows, share.end);
    };
    const auto right_of = [&] {
      return Right(call.right + share.batch * call.right_batch, call.right_step, share.column, share.begin,
                   call.columns, share.end);
    };
    Left left = left_of();
    Right right = right_of();
    int to = 0, waiting = 0;  // room, and steps that are not multiplied yet
    const auto fetch = [&] {
      if (number >= unsigned(call.shares)) return;
      uint32_t* const room = coming_room() + to * Tile::kComingWords;
      left.fetch(room);
      right.fetch(room + Tile::kLeftWords);
      to = to == 2 ? 0 : to + 1;
      ++waiting;
      share.begin += kInner;
      if (share.begin < share.end || (number += gridDim.x) >= unsigned(call.shares)) return;
      share = FloatProductShare::of<Tile>(call, number);
      left = left_of();
      right = right_of();
    };
#pragma unroll 1
    for (int i = 0; i < 2; ++i) fetch();
    copies_done();
    barrier_of<1, Tile::kPrepare>();
    split_columns(split_room(), coming_room() + Tile::kLeftWords);
    __syncthreads();
    for (int now = 0, side = 0; waiting > 0; --waiting) {
      const bool more = waiting > 1;
      now = now == 2 ? 0 : now + 1;
      side = 1 - side;
      fetch();
      if (more)
        split_columns(split_room() + side * Tile::kSplitWords,
                      coming_room() + now * Tile::kComingWords + Tile::kLeftWords);
      copies_done();
      __syncthreads();
    }
  }

  // The groups that multiply. Products go on while the sums of those before them are added.
  static void multiply(const FloatProductCall& call) {
    const int warp = int(threadIdx.x) / 32, g = int(threadIdx.x) % 32 / 4, t = int(threadIdx.x) % 4;
    const int row = 16 * warp + row_of(g);
    Rows rows[2];  // of the halves of a step
    __syncthreads();
    rows[0].read(coming_room(), row, 0, t);
    int now = 0, side = 0;
    for (unsigned number = blockIdx.x; number < unsigned(call.shares); number += gridDim.x) {
      const FloatProductShare share = FloatProductShare::of<Tile>(call, number);
      Part sums[kParts] = {}, made[2];
      for (int at = share.begin; at < share.end; at += kInner) {
        const uint32_t* const own = coming_room() + now * Tile::kComingWords;
        now = now == 2 ? 0 : now + 1;
        const uint32_t* const split = split_room() + side * Tile::kSplitWords;
        side = 1 - side;
        begin_products(made[0], rows[0], split, 0, 0);
        rows[1].read(own, row, 1, t);
#pragma unroll
        for (int i = 1; i < 2 * kParts; ++i) {
          begin_products(made[i % 2], rows[i / kParts], split, i % kParts, i / kParts);
          wide_done_but<1>(made[1 - i % 2]);
          add(sums[(i - 1) % kParts], made[1 - i % 2]);
          if (i == kParts) rows[0].read(coming_room() + now * Tile::kComingWords, row, 0, t);
        }
        wide_done_but<0>(made[1]);
        __syncthreads();
        add(sums[kParts - 1], made[1]);
      }
      write(call, share, sums, share.row + row, share.column + 4 * t);
    }
  }

  // A sum as float32 has it.
  static float plain(const FloatProductCall& call, const FloatProductShare& share, int row, int column) {
    const long long left_row = kLeftAlong ? call.left_step : 1, left_inner = kLeftAlong ? 1 : call.left_step,
                    right_column = kRightAlong ? call.right_step : 1,
                    right_inner = kRightAlong ? 1 : call.right_step;
    const float *left = call.left + share.batch * call.left_batch + row * left_row,
                *right = call.right + share.batch * call.right_batch + column * right_column;
    float sum = 0;
    for (int k = share.begin; k < share.end && sum == sum; ++k)
      sum += left[k * left_inner] * right[k * right_inner];
    return sum;
  }

  // Two rows, four columns of each 16.
  static void write(const FloatProductCall& call, const FloatProductShare& share, const Part (&sums)[kParts],
                    int row, int column) {
    float finite = 0;
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int n = 0; n < kWide / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) finite += sums[part][n][i] * 0.0f;
    const long long first = share.batch * call.pieces + share.piece;
    float* const out = call.out + first * call.out_batch;
    const float* const self = call.self + share.batch * call.self_batch;
    const auto put = [&](int own_row, int own_column, const FourFloats& numbers) {
      put_result(call, out + own_row * call.out_step + own_column,
                 self + own_row * call.self_step + own_column, own_column, numbers);
    };
    if (finite == 0) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int part = 0; part < kParts; ++part)
#pragma unroll
          for (int n = 0; n < kWide / 8; n += 2) {
            const float (&low)[4] = sums[part][n], (&high)[4] = sums[part][n + 1];
            if (row + i < call.rows)
              put(row + i, column + part * kWide + n * 8,
                  {low[2 * i], low[2 * i + 1], high[2 * i], high[2 * i + 1]});
          }
    } else {
#pragma unroll 1
      for (int i = 0; i < Tile::kColumns / 16 * 2; ++i) {
        const int own_row = row + i % 2, own_column = column + i / 2 * 16;
        FourFloats numbers;
#pragma unroll 1
        for (int k = 0; k < 4; ++k)
          numbers.value[k] = own_row < call.rows && own_column + k < call.columns
                                 ? plain(call, share, own_row, own_column + k)
                                 : 0;
        if (own_row < call.rows) put(own_row, own_column, numbers);
      }
    }
  }

  static void run(const FloatProductCall& call) {
    if (threadIdx.x >= Tile::kMultiply) {
      gives_registers<Tile::kOfPrepare>();
      prepare(call);
    } else {
      takes_registers<Tile::kOfMultiply>();
      multiply(call);
    }
  }
};

// Parts of a product, [batch, pieces, rows, columns] in the place of `left`, added in their order.
inline void float_product_added(const FloatProductCall& call) {
  const long long of_row = (call.columns + 3) / 4, all = of_row * call.rows * call.batch;
  for (long long i = first_index(); i < all; i += grid_step()) {
    const int column = int(i % of_row) * 4;
    const long long row = i / of_row % call.rows, batch = i / of_row / call.rows;
    const float* from = call.left + batch * call.pieces * call.left_batch + row * call.left_step + column;
    FourFloats sum = {};
    for (int piece = 0; piece < call.pieces; ++piece, from += call.left_batch) {
      const FourFloats more = *reinterpret_cast<const FourFloats*>(from);
#pragma unroll
      for (int k = 0; k < 4; ++k) sum.value[k] += more.value[k];
    }
    put_result(call, call.out + batch * call.out_batch + row * call.out_step + column,
               call.self + batch * call.self_batch + row * call.self_step + column, column, sum);
  }
}

}  // namespace mt::cuda
