// Running sums, products, log-sum-exps, maxima and minima along a dimension of dense tensors [outer, length, inner].
//
// Launch (RunningCall). State: what an operation carries; reverse: from the end to the beginning.
//   running_rows<In, Out, Op, reverse>: inner == 1. Block 256, grid (outer, parts), at most 65535 parts; `part` elements of a row for each block,
//     a multiple of 1024, or the whole row. With several parts:
//   running_folded<In, Op, reverse> comes first (the same grid) and leaves each part's state in carries, then
//   running_carried<In, Op> (a thread for each row: block 32, grid ceil(outer / 32)) turns them into what comes before.
//   running_columns<In, Out, Op, reverse>: any inner; a thread for each column, block 256, any grid.
//   Op: RunningSum<A>, RunningProduct<A>, RunningLogSumExp<A>, RunningExtreme<A, largest>; A: what it adds up in.
//   sizeof(typename Op::State) bytes for each carry.
#pragma once

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/calls.h"

namespace mt::cuda {

template <class A> struct RunningSum {
  using State = A;
  static constexpr bool has_places = false;
  static State none() { return A(0); }
  template <class T> static State of(T x, int64_t) { return cast<A>(x); }
  static State joined(State a, State b) { return kernels::math::add(a, b); }
  static A value(State s) { return s; }
};
template <class A> struct RunningProduct {
  using State = A;
  static constexpr bool has_places = false;
  static State none() { return A(1); }
  template <class T> static State of(T x, int64_t) { return cast<A>(x); }
  static State joined(State a, State b) { return kernels::math::mul(a, b); }
  static A value(State s) { return s; }
};
template <class A> struct RunningLogSumExp {
  using State = A;
  static constexpr bool has_places = false;
  static State none() {
    if constexpr (kernels::is_complex_v<A>) return A(kernels::lowest_value<typename A::value_type>(), 0);
    else return kernels::lowest_value<A>();
  }
  template <class T> static State of(T x, int64_t) { return cast<A>(x); }
  static State joined(State a, State b) {
    if constexpr (kernels::is_complex_v<A>) {
      // By the larger real part; an empty one leaves the other as it is.
      if (a == none()) return b;
      if (b == none()) return a;
      const bool swap = b.real() > a.real();
      const A large = swap ? b : a, small = swap ? a : b;
      return large + kernels::math::log1p(kernels::math::exp(small - large));
    } else {
      return kernels::math::log_add_exp(a, b);
    }
  }
  static A value(State s) { return s; }
};
// The last of equal extremes, and NaN before all else.
template <class A, bool kLargest> struct RunningExtreme {
  struct State {
    A extreme;
    int64_t place;  // -1: none yet
  };
  static constexpr bool has_places = true;
  static State none() { return {A(0), -1}; }
  template <class T> static State of(T x, int64_t place) { return {cast<A>(x), place}; }
  static State joined(State a, State b) {
    if (b.place < 0) return a;
    if (a.place < 0 || kernels::math::is_nan(b.extreme)) return b;
    if (kernels::math::is_nan(a.extreme)) return a;
    return (kLargest ? b.extreme >= a.extreme : b.extreme <= a.extreme) ? b : a;
  }
  static A value(State s) { return s.extreme; }
};

// What the lanes below and this one have together.
template <class Op> typename Op::State joined_up_to_lane(typename Op::State mine) {
  const int lane = int(threadIdx.x % 32);
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const auto below = from_lane_below(mine, step);
    if (lane >= step) mine = Op::joined(below, mine);
  }
  return mine;
}
// What the threads before this one have together, and what all have.
template <class Op> std::pair<typename Op::State, typename Op::State> joined_before(typename Op::State mine) {
  using State = typename Op::State;
  alignas(16) __shared__ char room[32 * sizeof(State)];
  State* of_warps = reinterpret_cast<State*>(room);
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  const State up_to = joined_up_to_lane<Op>(mine);
  __syncthreads();
  if (lane == 31) of_warps[warp] = up_to;
  __syncthreads();
  State before = from_lane_below(up_to, 1), all = Op::none(), warps_before = Op::none();
  for (int w = 0; w < int(blockDim.x) / 32; ++w) {
    if (w == warp) warps_before = all;
    all = Op::joined(all, of_warps[w]);
  }
  before = lane == 0 ? warps_before : Op::joined(warps_before, before);
  return {before, all};
}

inline constexpr int kRunningEach = 4;

// f(first place, states, how many) for each thread's neighbours of a part of a row, in order; f is told what came before.
template <class In, class Op, bool kReverse, class F>
typename Op::State over_part(const RunningCall& call, typename Op::State carried, F f) {
  using State = typename Op::State;
  const In* row = static_cast<const In*>(call.in) + int64_t(blockIdx.x) * call.length;
  const int64_t begin = int64_t(blockIdx.y) * call.part,
                end = begin + call.part < call.length ? begin + call.part : call.length;
  for (int64_t at = begin; at < end; at += int64_t(blockDim.x) * kRunningEach) {
    const int64_t first = at + int64_t(threadIdx.x) * kRunningEach;
    State states[kRunningEach], mine = Op::none();
#pragma unroll
    for (int k = 0; k < kRunningEach; ++k) {
      if (first + k >= end) continue;
      const int64_t place = kReverse ? call.length - 1 - (first + k) : first + k;
      states[k] = Op::of(row[place], place);
      mine = Op::joined(mine, states[k]);
    }
    const auto [before, all] = joined_before<Op>(mine);
    State now = Op::joined(carried, before);
#pragma unroll
    for (int k = 0; k < kRunningEach; ++k) {
      if (first + k >= end) continue;
      now = Op::joined(now, states[k]);
      f(kReverse ? call.length - 1 - (first + k) : first + k, now);
    }
    carried = Op::joined(carried, all);
  }
  return carried;
}

template <class In, class Op, bool kReverse> void running_folded(const RunningCall& call) {
  const auto all = over_part<In, Op, kReverse>(call, Op::none(), [](int64_t, typename Op::State) {});
  if (threadIdx.x == 0)
    static_cast<typename Op::State*>(call.carries)[int64_t(blockIdx.x) * gridDim.y + blockIdx.y] = all;
}
template <class In, class Op> void running_carried(const RunningCall& call) {
  using State = typename Op::State;
  const int64_t parts = (call.length + call.part - 1) / call.part;
  for (int64_t row = first_index(); row < call.outer; row += grid_step()) {
    State before = Op::none();
    for (int64_t p = 0; p < parts; ++p) {
      State& here = static_cast<State*>(call.carries)[row * parts + p];
      const State own = here;
      here = before;
      before = Op::joined(before, own);
    }
  }
}
template <class In, class Out, class Op, bool kReverse> void running_rows(const RunningCall& call) {
  using State = typename Op::State;
  const State before =
      call.carries ? static_cast<const State*>(call.carries)[int64_t(blockIdx.x) * gridDim.y + blockIdx.y]
                   : Op::none();
  const int64_t row = int64_t(blockIdx.x) * call.length;
  over_part<In, Op, kReverse>(call, before, [&](int64_t i, State s) {
    static_cast<Out*>(call.out)[row + i] = cast<Out>(Op::value(s));
    if constexpr (Op::has_places) call.places[row + i] = s.place;
  });
}
template <class In, class Out, class Op, bool kReverse> void running_columns(const RunningCall& call) {
  using State = typename Op::State;
  for (int64_t column = first_index(); column < call.outer * call.inner; column += grid_step()) {
    const int64_t base = column / call.inner * call.length * call.inner + column % call.inner;
    State now = Op::none();
    for (int64_t i = 0; i < call.length; ++i) {
      const int64_t place = kReverse ? call.length - 1 - i : i, at = base + place * call.inner;
      now = Op::joined(now, Op::of(static_cast<const In*>(call.in)[at], place));
      static_cast<Out*>(call.out)[at] = cast<Out>(Op::value(now));
      if constexpr (Op::has_places) call.places[at] = now.place;
    }
  }
}

}  // namespace mt::cuda
