// softmax and log_softmax, forward and backward, over any dimension of dense tensors [outer, length, inner].
//
// Launch (SoftmaxCall, by value; no dynamic shared memory):
//   softmax_rows<In, Out, log>            inner == 1. A block for each row: grid min(outer, 2^31 - 1), block 32 .. 1024 in
//   softmax_rows_backward<G, Y, Out, log> whole warps: length / 4 rounded up to a power of two is good.
//   softmax_lanes<In, Out, log, each>            inner == 1 and length <= 32 * each. A warp for each row, values in
//   softmax_lanes_backward<G, Y, Out, log, each> registers: block (32, any), any grid (block.h); each: 1, 2, 4 .. 32.
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
  template <class Values> void take(const Values& values) {  // several at once: one factor for the sum so far
    C most = largest;
#pragma unroll
    for (const auto v : values.value) most = std::fmax(most, C(v));
    if (most > largest) {
      sum *= std::exp(largest - most);
      largest = most;
    }
    const C from =
        largest == kernels::lowest_value<C>() ? C(0) : largest;  // -inf adds nothing; NaN stays one
#pragma unroll
    for (const auto v : values.value) sum += std::exp(C(v) - from);
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

// How many elements of these types are read or written at once.
template <class... T> constexpr int row_group() {
  int widest = 1;
  ((widest = int(sizeof(T)) > widest ? int(sizeof(T)) : widest), ...);
  return 16 / widest;
}
template <int kTogether, class... T> bool rows_in_groups(const T*... row) {
  return ((reinterpret_cast<uintptr_t>(row) % (sizeof(T) * kTogether) == 0) && ...);
}
template <class T, int N> void write(T* to, const Several<T, N>& values) {
  *reinterpret_cast<Several<T, N>*>(to) = values;
}

// f(i, values of each row from i on) for the elements that are this thread's: kTogether of them where rows lie in groups,
// and one at the end.
template <int kTogether, class F, class... T> void over_row(int64_t length, bool grouped, F f,
                                                            const T*... row) {
  const int64_t groups = grouped ? length / kTogether : 0;
  for (int64_t g = threadIdx.x; g < groups; g += blockDim.x)
    f(g * kTogether, reinterpret_cast<const Several<T, kTogether>*>(row)[g]...);
  for (int64_t i = groups * kTogether + threadIdx.x; i < length; i += blockDim.x)
    f(i, Several<T, 1>{row[i]}...);
}

// The place of a row whose elements a warp has in registers: which element number k of a lane is.
template <int kEach, class... T> struct LaneRow {
  static constexpr int kTogether = row_group<T...>() < kEach ? row_group<T...>() : kEach;
  int length;
  bool grouped, full;  // in groups that are read at once; and every lane has kEach elements
  int lane = int(threadIdx.x);

  LaneRow(int64_t n, const T*... row)
      : length(int(n)),
        grouped(length % kTogether == 0 && rows_in_groups<kTogether>(row...)),
        full(grouped && length == 32 * kEach) {}

  int index(int k) const {
    return grouped ? (lane + k / kTogether * 32) * kTogether + k % kTogether : lane + 32 * k;
  }
  // body(k, whether it lies in the row) for the first of each group: a constant for full rows.
  template <class Body> void each_group(Body body) const {
    if (full) {
#pragma unroll
      for (int k = 0; k < kEach; k += kTogether) body(k, std::true_type());
    } else {
#pragma unroll
      for (int k = 0; k < kEach; k += kTogether) body(k, index(k) < length);
    }
  }
  template <class C, class V> void read(C (&values)[kEach], const V* row, C otherwise) const {
    if (grouped) {
      each_group([&](int k, auto inside) {
        Several<V, kTogether> group;
        if (inside) group = *reinterpret_cast<const Several<V, kTogether>*>(row + index(k));
#pragma unroll
        for (int j = 0; j < kTogether; ++j) values[k + j] = inside ? C(group.value[j]) : otherwise;
      });
    } else {
#pragma unroll
      for (int k = 0; k < kEach; ++k) values[k] = lane + 32 * k < length ? C(row[lane + 32 * k]) : otherwise;
    }
  }
  template <class V, class F> void write(V* row, F f) const {
    if (grouped) {
      each_group([&](int k, auto inside) {
        if (!inside) return;
        Several<V, kTogether> group;
#pragma unroll
        for (int j = 0; j < kTogether; ++j) group.value[j] = cast<V>(f(k + j));
        *reinterpret_cast<Several<V, kTogether>*>(row + index(k)) = group;
      });
    } else {
#pragma unroll
      for (int k = 0; k < kEach; ++k)
        if (lane + 32 * k < length) row[lane + 32 * k] = cast<V>(f(k));
    }
  }
};

template <class In, class Out, bool kLog> void softmax_rows(const SoftmaxCall& call) {
  using C = compute_t<In>;
  constexpr int together = row_group<In, Out>();
  for (int64_t row = blockIdx.x; row < call.outer; row += gridDim.x) {
    const In* x = static_cast<const In*>(call.in) + row * call.length;
    Out* y = static_cast<Out*>(call.out) + row * call.length;
    const bool grouped = rows_in_groups<together>(x, y);
    RunningSoftmax<C> mine = RunningSoftmax<C>::none();
    over_row<together>(call.length, grouped, [&](int64_t, const auto& values) { mine.take(values); }, x);
    const auto all = fold_block(mine, RunningSoftmax<C>::none(), RunningSoftmax<C>::merged);
    const C scale = softmax_scale<kLog>(all.sum);
    over_row<together>(
        call.length, grouped,
        [&]<int N>(int64_t i, const Several<In, N>& values) {
          Several<Out, N> made;
#pragma unroll
          for (int k = 0; k < N; ++k)
            made.value[k] = cast<Out>(softmax_value<kLog>(C(values.value[k]), all.largest, scale));
          write(y + i, made);
        },
        x);
  }
}

template <class G, class Y, class Out, bool kLog> void softmax_rows_backward(const SoftmaxCall& call) {
  using C = compute_t<G>;
  constexpr int together = row_group<G, Y, Out>();
  for (int64_t row = blockIdx.x; row < call.outer; row += gridDim.x) {
    const G* g = static_cast<const G*>(call.in) + row * call.length;
    const Y* y = static_cast<const Y*>(call.made) + row * call.length;
    Out* out = static_cast<Out*>(call.out) + row * call.length;
    const bool grouped = rows_in_groups<together>(g, y, out);
    C mine = 0;
    over_row<together>(
        call.length, grouped,
        [&]<int N>(int64_t, const Several<G, N>& gradient, const Several<Y, N>& made) {
#pragma unroll
          for (int k = 0; k < N; ++k) mine += softmax_term<kLog>(C(gradient.value[k]), C(made.value[k]));
        },
        g, y);
    const C sum = sum_block(mine);
    over_row<together>(
        call.length, grouped,
        [&]<int N>(int64_t i, const Several<G, N>& gradient, const Several<Y, N>& made) {
          Several<Out, N> slope;
#pragma unroll
          for (int k = 0; k < N; ++k)
            slope.value[k] = cast<Out>(softmax_slope<kLog>(C(gradient.value[k]), C(made.value[k]), sum));
          write(out + i, slope);
        },
        g, y);
  }
}

template <class In, class Out, bool kLog, int kEach> void softmax_lanes(const SoftmaxCall& call) {
  using C = compute_t<In>;
  constexpr C none = kernels::lowest_value<C>();
  for (int64_t r = first_row(); r < call.outer; r += row_step()) {
    const In* x = static_cast<const In*>(call.in) + r * call.length;
    Out* y = static_cast<Out*>(call.out) + r * call.length;
    const LaneRow<kEach, In, Out> row(call.length, x, y);
    C value[kEach], largest = none, sum = 0;
    row.read(value, x, none);
#pragma unroll
    for (int k = 0; k < kEach; ++k) largest = std::fmax(largest, value[k]);
    largest = fold_warp(largest, [](C a, C b) { return std::fmax(a, b); });
#pragma unroll
    for (int k = 0; k < kEach; ++k) {  // -inf, which is what stands outside, adds nothing; NaN stays one
      const C power = std::exp(value[k] - largest);
      sum += power;
      if constexpr (!kLog) value[k] = power;
    }
    const C scale = softmax_scale<kLog>(fold_warp(sum, [](C a, C b) { return a + b; }));
    row.write(y, [&](int k) {
      if constexpr (kLog) return value[k] - largest - scale;
      else return value[k] * scale;
    });
  }
}

template <class G, class Y, class Out, bool kLog, int kEach> void softmax_lanes_backward(
    const SoftmaxCall& call) {
  using C = compute_t<G>;
  for (int64_t r = first_row(); r < call.outer; r += row_step()) {
    const G* g = static_cast<const G*>(call.in) + r * call.length;
    const Y* y = static_cast<const Y*>(call.made) + r * call.length;
    Out* out = static_cast<Out*>(call.out) + r * call.length;
    const LaneRow<kEach, G, Y, Out> row(call.length, g, y, out);
    C gradient[kEach], made[kEach], sum = 0;
    row.read(gradient, g, C(0));
    row.read(made, y, C(0));
#pragma unroll
    for (int k = 0; k < kEach; ++k) sum += softmax_term<kLog>(gradient[k], made[k]);
    sum = fold_warp(sum, [](C a, C b) { return a + b; });
    row.write(out, [&](int k) { return softmax_slope<kLog>(gradient[k], made[k], sum); });
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
      for (int64_t i = threadIdx.y; i < call.length; i += blockDim.y)
        mine.take(Several<In, 1>{x[i * call.inner]});
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
