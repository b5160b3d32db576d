// The largest or smallest element of each line of a dense tensor [outer, length, inner], and where it is first. NaN comes
// before all numbers.
//
// Launch (RunningCall; `out` may be null: only places are wanted):
//   extreme_rows<T, largest>: inner == 1. Block 256, grid (outer, parts), `part` elements of a row for each block. With
//     several parts each leaves an Extreme in carries [outer, parts], which
//   extreme_joined<T, largest> (block 32, grid outer) makes one of; `part` as before.
//   extreme_columns<T, largest>: any inner; a thread for each column, block 256, any grid.
#pragma once

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/calls.h"

namespace mt::cuda {

template <class C> struct Extreme {
  C value;
  int64_t place;  // -1: none yet
};

template <bool kLargest, class C> Extreme<C> more_extreme(const Extreme<C>& a, const Extreme<C>& b) {
  if (a.place < 0) return b;
  if (b.place < 0) return a;
  const bool nan_a = kernels::math::is_nan(a.value), nan_b = kernels::math::is_nan(b.value);
  if (nan_a != nan_b) return nan_a ? a : b;
  if (nan_a || a.value == b.value) return a.place < b.place ? a : b;
  return (kLargest ? a.value > b.value : a.value < b.value) ? a : b;
}

template <class T> void store_extreme(const RunningCall& call, int64_t line,
                                      const Extreme<compute_t<T>>& found) {
  if (call.out) static_cast<T*>(call.out)[line] = cast<T>(found.value);
  call.places[line] = found.place;
}

template <class T, bool kLargest> void extreme_rows(const RunningCall& call) {
  using State = Extreme<compute_t<T>>;
  const int64_t row = blockIdx.x, begin = int64_t(blockIdx.y) * call.part,
                end = begin + call.part < call.length ? begin + call.part : call.length;
  const T* in = static_cast<const T*>(call.in) + row * call.length;
  State best{{}, -1};
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x)
    best = more_extreme<kLargest>(best, State{cast<compute_t<T>>(in[i]), i});
  best = fold_block(best, State{{}, -1},
                    [](const State& a, const State& b) { return more_extreme<kLargest>(a, b); });
  if (threadIdx.x != 0) return;
  if (gridDim.y > 1) static_cast<State*>(call.carries)[row * gridDim.y + blockIdx.y] = best;
  else store_extreme<T>(call, row, best);
}
template <class T, bool kLargest> void extreme_joined(const RunningCall& call) {
  using State = Extreme<compute_t<T>>;
  const int64_t row = blockIdx.x, parts = (call.length + call.part - 1) / call.part;
  State best{{}, -1};
  for (int64_t p = threadIdx.x; p < parts; p += blockDim.x)
    best = more_extreme<kLargest>(best, static_cast<const State*>(call.carries)[row * parts + p]);
  best = fold_warp(best, [](const State& a, const State& b) { return more_extreme<kLargest>(a, b); });
  if (threadIdx.x == 0) store_extreme<T>(call, row, best);
}
template <class T, bool kLargest> void extreme_columns(const RunningCall& call) {
  using State = Extreme<compute_t<T>>;
  for (int64_t column = first_index(); column < call.outer * call.inner; column += grid_step()) {
    const T* in =
        static_cast<const T*>(call.in) + column / call.inner * call.length * call.inner + column % call.inner;
    State best{{}, -1};
    for (int64_t i = 0; i < call.length; ++i)
      best = more_extreme<kLargest>(best, State{cast<compute_t<T>>(in[i * call.inner]), i});
    store_extreme<T>(call, column, best);
  }
}

}  // namespace mt::cuda
