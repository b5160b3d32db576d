// What the threads of a block do together: folds in a fixed order, and where a thread's work begins.
#pragma once

#include "backends/cuda/device/functors.h"

namespace mt::cuda {

using kernels::cast;
using kernels::compute_t;

// N numbers that are read or written at once.
template <class T, int N> struct alignas(sizeof(T) * N) Several {
  T value[N];
};

// The first index of a thread that strides over the grid, and the step.
inline int64_t first_index() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
inline int64_t grid_step() { return int64_t(gridDim.x) * blockDim.x; }

// The value that the lane whose number differs in the bits of `mask` has; any type of whole words.
template <class A> A from_lane_across(A x, int mask) {
  if constexpr (sizeof(A) < 4) {
    return A(__shfl_xor_sync(0xffffffffu, int(x), mask));
  } else {
    constexpr int words = sizeof(A) / 4;
    static_assert(sizeof(A) % 4 == 0);
    struct Words {
      int at[words];
    };
    Words w = std::bit_cast<Words>(x);
#pragma unroll
    for (int i = 0; i < words; ++i) w.at[i] = __shfl_xor_sync(0xffffffffu, w.at[i], mask);
    return std::bit_cast<A>(w);
  }
}
template <class A> A from_lane_below(A x, int distance) {
  if constexpr (sizeof(A) < 4) {
    return A(__shfl_up_sync(0xffffffffu, int(x), distance));
  } else {
    constexpr int words = sizeof(A) / 4;
    struct Words {
      int at[words];
    };
    Words w = std::bit_cast<Words>(x);
#pragma unroll
    for (int i = 0; i < words; ++i) w.at[i] = __shfl_up_sync(0xffffffffu, w.at[i], distance);
    return std::bit_cast<A>(w);
  }
}

// The fold over the 32 lanes, known to all of them. f must not care which of its operands comes first.
template <class A, class F> A fold_warp(A x, F f) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) x = f(x, from_lane_across(x, mask));
  return x;
}

// The fold over a block of whole warps, known to all threads. Every thread calls it; it may be called again at once.
template <class A, class F> A fold_block(A x, A nothing, F f) {
  if (blockDim.x <= 32 && blockDim.y == 1) return fold_warp(x, f);
  alignas(16) __shared__ char room[32 * sizeof(A)];
  A* parts = reinterpret_cast<A*>(room);
  const int thread = int(threadIdx.y * blockDim.x + threadIdx.x),
            warps = int(blockDim.x * blockDim.y + 31) / 32;
  x = fold_warp(x, f);
  __syncthreads();
  if (thread % 32 == 0) parts[thread / 32] = x;
  __syncthreads();
  x = thread % 32 < warps ? parts[thread % 32] : nothing;
  return fold_warp(x, f);
}

template <class A> A sum_block(A x) {
  return fold_block(x, A(0), [](A a, A b) { return a + b; });
}
template <class A> A largest_block(A x) {
  return fold_block(x, kernels::lowest_value<A>(), [](A a, A b) { return kernels::math::maximum(a, b); });
}

// Rows of a grid whose blocks are (x, y): y rows at a time, x threads for each of them. A row's threads are a warp, or the
// whole block.
inline int64_t first_row() { return int64_t(blockIdx.x) * blockDim.y + threadIdx.y; }
inline int64_t row_step() { return int64_t(gridDim.x) * blockDim.y; }
// The fold over the threads of a row, known to all of them.
template <class A, class F> A fold_row(A x, A nothing, F f) {
  if (blockDim.x == 32) return fold_warp(x, f);
  return fold_block(x, nothing, f);
}
template <class A> A sum_row(A x) {
  return fold_row(x, A(0), [](A a, A b) { return a + b; });
}

// The fold over threadIdx.y of a block (32, 8), known to all threads of the column.
template <class A, class F> A fold_strip(A x, F f) {
  alignas(16) __shared__ char room[8 * 32 * sizeof(A)];
  A* parts = reinterpret_cast<A*>(room);
  __syncthreads();
  parts[threadIdx.y * 32 + threadIdx.x] = x;
  __syncthreads();
  A all = parts[threadIdx.x];
  for (int k = 1; k < int(blockDim.y); ++k) all = f(all, parts[k * 32 + threadIdx.x]);
  return all;
}

}  // namespace mt::cuda
