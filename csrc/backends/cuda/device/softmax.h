// softmax and log_softmax, forward and backward, over any dimension of dense tensors [outer, length, inner].
//
// Launch (SoftmaxCall, by value; no dynamic shared memory):
//   softmax_rows<In, Out, log>            inner == 1. A block for each row: grid min(outer, 2^31 - 1), block 32 .. 1024 in
//   softmax_rows_backward<G, Y, Out, log> whole warps: length / 4 rounded up to a power of two is good.
//   softmax_lanes<In, Out, log, each>            inner == 1 and length <= 32 * each. A warp for each row, values in
//   softmax_lanes_backward<G, Y, Out, log, each> registers: block 128, grid outer / 4 rounded up; each: 1, 2, 4 .. 32.
//   softmax_columns<In, Out, log>            any inner. Block (32, 8), grid outer * ceil(inner / 32), at most 2^31 - 1:
//   softmax_columns_backward<G, Y, Out, log> 32 columns side by side, the length shared by 8 threads.
// In and Out, or G (the gradient), Y (the result of forward) and Out may differ (half to float). Computes in float, or in
// double for double. Sums are taken in a fixed order.
#pragma once

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/calls.h"

namespace mt::cuda {

// The largest value seen and the sum of exp(value - largest).
template <class C> struct RunningSoftmax {
  C largest, sum;

  static RunningSoftmax none() { return {kernels::lowest_value<C>(), C(0)}; }
  void take(C x) {
    if (x > largest) {
      sum = sum * std::exp(largest - x) + C(1);
      largest = x;
    } else if (x == largest) {  // also infinities, whose difference has no value
      sum += largest == kernels::lowest_value<C>() ? C(0) : C(1);
    } else {
      sum += std::exp(x - largest);  // NaN comes here and stays
    }
  }
  static RunningSoftmax merged(RunningSoftmax a, RunningSoftmax b) {
    const C most = kernels::math::maximum(a.largest, b.largest);
    const C from_a = a.largest == most ? a.sum : a.sum * std::exp(a.largest - most);
    const C from_b = b.largest == most ? b.sum : b.sum * std::exp(b.largest - most);
    return {most, from_a + from_b};
  }
};

// One value of the result, given the row's.
template <bool kLog, class C> C softmax_value(C x, C largest, C sum_or_log) {
  if constexpr (kLog) return x - largest - sum_or_log;
  else return std::exp(x - largest) * sum_or_log;
}
// What a row's sum becomes before it meets the values: its logarithm, or one over it.
template <bool kLog, class C> C softmax_scale(C sum) {
  if constexpr (kLog) return std::log(sum);
  else return C(1) / sum;
}
template <bool kLog, class C> C softmax_term(C gradient, C made) {
  if constexpr (kLog) return gradient;
  else return gradient * made;
}
template <bool kLog, class C> C softmax_slope(C gradient, C made, C sum) {
  if constexpr (kLog) return gradient - std::exp(made) * sum;
  else return made * (gradient - sum);
}

// f(i, value) for the elements of a row that are this thread's, 16 bytes at a time where the row lies on such bounds.
template <class T, class F> void over_row(const T* row, int64_t length, F f) {
  constexpr int together = sizeof(T) >= 16 ? 1 : 16 / sizeof(T);
  int64_t done = 0;
  if (reinterpret_cast<uintptr_t>(row) % 16 == 0) {
    const int64_t groups = length / together;
    for (int64_t g = threadIdx.x; g < groups; g += blockDim.x) {
      const Several<T, together> group = reinterpret_cast<const Several<T, together>*>(row)[g];
#pragma unroll
      for (int k = 0; k < together; ++k) f(g * together + k, group.value[k]);
    }
    done = groups * together;
  }
  for (int64_t i = done + threadIdx.x; i < length; i += blockDim.x) f(i, row[i]);
}

template <class In, class Out, bool kLog> void softmax_rows(const SoftmaxCall& call) {
  using C = compute_t<In>;
  for (int64_t row = blockIdx.x; row < call.outer; row += gridDim.x) {
    const In* x = static_cast<const In*>(call.in) + row * call.length;
    Out* y = static_cast<Out*>(call.out) + row * call.length;
    RunningSoftmax<C> mine = RunningSoftmax<C>::none();
    over_row(x, call.length, [&](int64_t, In v) { mine.take(C(v)); });
    const auto all = fold_block(mine, RunningSoftmax<C>::none(), RunningSoftmax<C>::merged);
    const C scale = softmax_scale<kLog>(all.sum);
    over_row(x, call.length,
             [&](int64_t i, In v) { y[i] = cast<Out>(softmax_value<kLog>(C(v), all.largest, scale)); });
  }
}

template <class G, class Y, class Out, bool kLog> void softmax_rows_backward(const SoftmaxCall& call) {
  using C = compute_t<G>;
  for (int64_t row = blockIdx.x; row < call.outer; row += gridDim.x) {
    const G* g = static_cast<const G*>(call.in) + row * call.length;
    const Y* y = static_cast<const Y*>(call.made) + row * call.length;
    Out* out = static_cast<Out*>(call.out) + row * call.length;
    C mine = 0;
    over_row(g, call.length, [&](int64_t i, G v) { mine += softmax_term<kLog>(C(v), C(y[i])); });
    const C sum = sum_block(mine);
    over_row(g, call.length,
             [&](int64_t i, G v) { out[i] = cast<Out>(softmax_slope<kLog>(C(v), C(y[i]), sum)); });
  }
}

template <class In, class Out, bool kLog, int kEach> void softmax_lanes(const SoftmaxCall& call) {
  using C = compute_t<In>;
  const int lane = int(threadIdx.x % 32);
  const int64_t step = grid_step() / 32;
  for (int64_t row = first_index() / 32; row < call.outer; row += step) {
    const In* x = static_cast<const In*>(call.in) + row * call.length;
    Out* y = static_cast<Out*>(call.out) + row * call.length;
    C value[kEach], largest = kernels::lowest_value<C>(), sum = 0;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int64_t i = lane + 32 * k;
      value[k] = i < call.length ? C(x[i]) : kernels::lowest_value<C>();
      largest = kernels::math::maximum(largest, value[k]);
    }
    largest = fold_warp(largest, [](C a, C b) { return kernels::math::maximum(a, b); });
#pragma unroll
    for (int k = 0; k < kEach; ++k)
      if (lane + 32 * k < call.length) sum += std::exp(value[k] - largest);
    const C scale = softmax_scale<kLog>(fold_warp(sum, [](C a, C b) { return a + b; }));
#pragma unroll
    for (int k = 0; k < kEach; ++k)
      if (lane + 32 * k < call.length)
        y[lane + 32 * k] = cast<Out>(softmax_value<kLog>(value[k], largest, scale));
  }
}

template <class G, class Y, class Out, bool kLog, int kEach> void softmax_lanes_backward(
    const SoftmaxCall& call) {
  using C = compute_t<G>;
  const int lane = int(threadIdx.x % 32);
  const int64_t step = grid_step() / 32;
  for (int64_t row = first_index() / 32; row < call.outer; row += step) {
    const int64_t at = row * call.length;
    C gradient[kEach], made[kEach], sum = 0;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int64_t i = lane + 32 * k;
      const bool inside = i < call.length;
      gradient[k] = inside ? C(static_cast<const G*>(call.in)[at + i]) : C(0);
      made[k] = inside ? C(static_cast<const Y*>(call.made)[at + i]) : C(0);
      if (inside) sum += softmax_term<kLog>(gradient[k], made[k]);
    }
    sum = fold_warp(sum, [](C a, C b) { return a + b; });
#pragma unroll
    for (int k = 0; k < kEach; ++k)
      if (lane + 32 * k < call.length)
        static_cast<Out*>(call.out)[at + lane + 32 * k] =
            cast<Out>(softmax_slope<kLog>(gradient[k], made[k], sum));
  }
}

// body(first element, whether the column exists) for each strip of 32 columns; all threads of a block come along.
template <class F> void over_columns(const SoftmaxCall& call, F body) {
  const int64_t strips = (call.inner + 31) / 32;
  for (int64_t strip = blockIdx.x; strip < call.outer * strips; strip += gridDim.x) {
    const int64_t column = strip % strips * 32 + threadIdx.x;
    body(strip / strips * call.length * call.inner + column, column < call.inner);
  }
}

template <class In, class Out, bool kLog> void softmax_columns(const SoftmaxCall& call) {
  using C = compute_t<In>;
  over_columns(call, [&](int64_t at, bool exists) {
    const In* x = static_cast<const In*>(call.in) + at;
    Out* y = static_cast<Out*>(call.out) + at;
    RunningSoftmax<C> mine = RunningSoftmax<C>::none();
    if (exists)
      for (int64_t i = threadIdx.y; i < call.length; i += blockDim.y) mine.take(C(x[i * call.inner]));
    const auto all = fold_strip(mine, RunningSoftmax<C>::merged);
    const C scale = softmax_scale<kLog>(all.sum);
    if (exists)
      for (int64_t i = threadIdx.y; i < call.length; i += blockDim.y)
        y[i * call.inner] = cast<Out>(softmax_value<kLog>(C(x[i * call.inner]), all.largest, scale));
  });
}

template <class G, class Y, class Out, bool kLog> void softmax_columns_backward(const SoftmaxCall& call) {
  using C = compute_t<G>;
  over_columns(call, [&](int64_t at, bool exists) {
    const G* g = static_cast<const G*>(call.in) + at;
    const Y* y = static_cast<const Y*>(call.made) + at;
    Out* out = static_cast<Out*>(call.out) + at;
    C mine = 0;
    if (exists)
      for (int64_t i = threadIdx.y; i < call.length; i += blockDim.y)
        mine += softmax_term<kLog>(C(g[i * call.inner]), C(y[i * call.inner]));
    const C sum = fold_strip(mine, [](C a, C b) { return a + b; });
    if (exists)
      for (int64_t i = threadIdx.y; i < call.length; i += blockDim.y)
        out[i * call.inner] = cast<Out>(softmax_slope<kLog>(C(g[i * call.inner]), C(y[i * call.inner]), sum));
  });
}

}  // namespace mt::cuda
