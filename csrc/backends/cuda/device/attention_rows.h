// Rows of attention's matrices on their way to shared memory. Note [Attention by tensor cores]
#pragma once

#include <attention_instructions.h>

#include "backends/cuda/device/attention_tile.h"
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/calls.h"

namespace mt::cuda {

using Words = Several<uint32_t, 4>;

// Where a lane stands in the products of its warp.
struct AttentionLane {
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
};

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

// How matrices lie in shared memory, and products of them: of floats (attention_floats.h) and of halves (attention_halves.h).
template <class T, int kDim> struct Products;

// Rows of one batch and head that kThreads fetch to shared memory, kRows after the other: a thread has the same 16 bytes of
// some of them every time. Behind the last row and behind `dim` there are zeros. Wait with copies_done() and a barrier.
template <class T, int kDim, int kRows, int kThreads> struct ComingRows {
  using Room = AttentionRoom<int(sizeof(T)), kDim>;
  static constexpr int kPieces = Room::kWords / 4, kAtOnce = kThreads / kPieces;
  static_assert(kRows % kAtOnce == 0 && (kAtOnce % 8 == 0 || !Room::kHalves));

  const T* source;
  int row;

  static int piece() { return int(threadIdx.x) % kPieces; }
  static int own_row() { return int(threadIdx.x) / kPieces; }

  ComingRows(const Places& places, long long batch, long long head, int first)
      : source(static_cast<const T*>(places.data) + batch * places.strides[3] + head * places.strides[2] +
               (first + own_row()) * places.strides[1] + piece() * Room::kEach * places.strides[0]),
        row(first + own_row()) {}

  // rows, dim: of the whole matrix.
  void fetch(uint32_t* to, const Places& places, bool whole, int rows, int dim) {
    to += own_row() * Room::kStride + Products<T, kDim>::place(own_row(), piece());
    const int begin = piece() * Room::kEach;
    if (whole) {
      const int end = begin < dim ? rows : 0;
#pragma unroll
      for (int r = 0; r < kRows; r += kAtOnce) {
        copy_later(to + r * Room::kStride, source, r + row < end);
        source += kAtOnce * places.strides[1];
      }
    } else {
#pragma unroll 1
      for (int r = 0; r < kRows; r += kAtOnce) {
        Several<T, Room::kEach> values;
#pragma unroll
        for (int k = 0; k < Room::kEach; ++k)
          values.value[k] = r + row < rows && begin + k < dim ? source[k * places.strides[0]] : T(0.0f);
        *reinterpret_cast<Several<T, Room::kEach>*>(to + r * Room::kStride) = values;
        source += kAtOnce * places.strides[1];
      }
    }
    row += kRows;
  }
};

}  // namespace mt::cuda
