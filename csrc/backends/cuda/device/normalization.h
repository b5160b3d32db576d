// layer_norm, rms_norm, group_norm and batch_norm, forward and backward. T: elements; W: weights and biases; S: mean and
// rstd. Computes in float, or double for double. Sums are taken in a fixed order: a run gives what the last gave.
//
// Launch:
//   row_norm<T, W, S, centered, kept>(RowNormCall): rows of threads (block.h), block (32, any) or (64 .. 1024, 1) in whole
//     warps, any grid. centered: layer_norm; else rms_norm. kept: how many groups of 16 bytes of the row a thread keeps in
//     registers (1, 2, 4, 8; then length <= kept * threads of a row * 16 / sizeof(T)), or 0 for rows of any length.
//   row_norm_backward<T, W, S, centered, kept>: the gradient in `in`; the same grid and block.
//   row_norm_backward_parts<T, S, centered>: sums for weight and bias; block (32, 8), grid (ceil(length / 32), parts), then
//   parts_added<C, W>(PartsCall): block 256, grid ceil(count / 256); once for the weight and once for the bias.
//   group_norm: row_statistics<T, S>(RowNormCall, rows = batch * groups), then
//     group_norm_applied<T, W, S>(GroupNormCall): elements, any grid.
//   group_norm_backward: plane_sums<T> (a warp for each plane of batch * channels; block 256),
//     group_norm_coefficients<T, W, S> (a thread for each of batch * groups), group_norm_backward_input<T, W, S> (elements),
//     group_norm_backward_parameters<T, W, S> (a thread for each channel).
//   batch_norm in training: channel_moments<T, inside>, channel_statistics<T, S, R> (R: running statistics; a thread for
//     each channel), then channel_applied<T, W, S>. Else channel_applied alone.
//   batch_norm_backward: channel_products<T, S, inside>, channel_totals<T, W, S> (a thread for each channel), then
//     channel_backward_input<T, W, S>. inside: channel_stride is 1 (block (32, 8), grid (ceil(channels / 32), number));
//     else block 256, grid (channels, number). Any number of parts.
#pragma once

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/calls.h"

namespace mt::cuda {

// A pointer that may be null, read as the compute type.
template <class C, class W> C value_or(const void* data, int64_t i, C otherwise) {
  return data ? cast<C>(static_cast<const W*>(data)[i]) : otherwise;
}

// Count, mean and sum of squared distances from it (Welford), merged as Chan does.
template <class C> struct Moments {
  C count, mean, squares;

  static Moments none() { return {C(0), C(0), C(0)}; }
  void take(C x) {
    count += C(1);
    const C away = x - mean;
    mean += away / count;
    squares += away * (x - mean);
  }
  static Moments merged(Moments a, Moments b) {
    const C count = a.count + b.count;
    if (count == C(0)) return a;
    const C away = b.mean - a.mean, share = b.count / count;
    return {count, a.mean + away * share, a.squares + b.squares + away * away * a.count * share};
  }
};

// f(i, value) for this thread's elements of a row, which come from memory, or from registers when `kKept` groups suffice.
template <class T, int kKept> struct Row {
  static constexpr int kTogether = 16 / sizeof(T);
  const T* data;
  int64_t length;
  Several<T, kTogether> groups[kKept ? kKept : 1];
  bool in_registers;

  Row(const T* from, int64_t n) : data(from), length(n) {
    in_registers = kKept > 0 && reinterpret_cast<uintptr_t>(from) % 16 == 0 && n % kTogether == 0;
    if constexpr (kKept > 0) {
      if (!in_registers) return;
#pragma unroll
      for (int k = 0; k < kKept; ++k) {
        const int64_t g = int64_t(k) * blockDim.x + threadIdx.x;
        if (g * kTogether < n) groups[k] = reinterpret_cast<const Several<T, kTogether>*>(from)[g];
      }
    }
  }
  template <class F> void each(F f) const {
    if constexpr (kKept > 0) {
      if (in_registers) {
#pragma unroll
        for (int k = 0; k < kKept; ++k) {
          const int64_t g = int64_t(k) * blockDim.x + threadIdx.x;
          if (g * kTogether < length) {
#pragma unroll
            for (int j = 0; j < kTogether; ++j) f(g * kTogether + j, groups[k].value[j]);
          }
        }
        return;
      }
    }
    for (int64_t i = threadIdx.x; i < length; i += blockDim.x) f(i, data[i]);
  }
  // out[i] = f(i, value), written as it was read.
  template <class F> void each_to(T* out, F f) const {
    if constexpr (kKept > 0) {
      if (in_registers && reinterpret_cast<uintptr_t>(out) % 16 == 0) {
#pragma unroll
        for (int k = 0; k < kKept; ++k) {
          const int64_t g = int64_t(k) * blockDim.x + threadIdx.x;
          if (g * kTogether < length) {
            Several<T, kTogether> made;
#pragma unroll
            for (int j = 0; j < kTogether; ++j) made.value[j] = f(g * kTogether + j, groups[k].value[j]);
            reinterpret_cast<Several<T, kTogether>*>(out)[g] = made;
          }
        }
        return;
      }
    }
    each([&](int64_t i, T x) { out[i] = f(i, x); });
  }
};

// Mean and one over the deviation of a row, known to all threads.
template <bool kCentered, class C, class R> std::pair<C, C> row_moments(const R& row, double eps) {
  C mean = 0, squares = 0;
  if constexpr (kCentered) {
    C sum = 0;
    row.each([&](int64_t, auto x) { sum += C(x); });
    mean = sum_row(sum) / C(row.length);
  }
  row.each([&](int64_t, auto x) { squares += (C(x) - mean) * (C(x) - mean); });
  return {mean, C(1) / std::sqrt(sum_row(squares) / C(row.length) + C(eps))};
}

template <class T, class W, class S, bool kCentered, int kKept> void row_norm(const RowNormCall& call) {
  using C = compute_t<T>;
  for (int64_t r = first_row(); r < call.rows; r += row_step()) {
    const Row<T, kKept> row(static_cast<const T*>(call.in) + r * call.length, call.length);
    const auto [mean, rstd] = row_moments<kCentered, C>(row, call.eps);
    row.each_to(static_cast<T*>(call.out) + r * call.length, [&](int64_t i, T x) {
      const C weight = value_or<C, W>(call.weight, i, C(1)) + C(call.offset);
      return cast<T>((C(x) - mean) * rstd * weight + value_or<C, W>(call.bias, i, C(0)));
    });
    if (threadIdx.x == 0) {
      if (call.mean) static_cast<S*>(call.mean)[r] = cast<S>(mean);
      if (call.rstd) static_cast<S*>(call.rstd)[r] = cast<S>(rstd);
    }
  }
}

template <class T, class S> void row_statistics(const RowNormCall& call) {
  using C = compute_t<T>;
  for (int64_t r = blockIdx.x; r < call.rows; r += gridDim.x) {
    const Row<T, 0> row(static_cast<const T*>(call.in) + r * call.length, call.length);
    const auto [mean, rstd] = row_moments<true, C>(row, call.eps);
    if (threadIdx.x == 0) {
      static_cast<S*>(call.mean)[r] = cast<S>(mean);
      static_cast<S*>(call.rstd)[r] = cast<S>(rstd);
    }
  }
}

template <class T, class W, class S, bool kCentered, int kKept> void row_norm_backward(
    const RowNormCall& call) {
  using C = compute_t<T>;
  struct Sums {
    C plain, weighted;
  };
  for (int64_t r = first_row(); r < call.rows; r += row_step()) {
    const int64_t at = r * call.length;
    const Row<T, kKept> row(static_cast<const T*>(call.in) + at, call.length);
    const T* g = static_cast<const T*>(call.gradient) + at;
    const C mean = kCentered ? cast<C>(static_cast<const S*>(call.mean)[r]) : C(0);
    const C rstd = cast<C>(static_cast<const S*>(call.rstd)[r]);
    const auto pulled = [&](int64_t i) {
      return C(g[i]) * (value_or<C, W>(call.weight, i, C(1)) + C(call.offset));
    };
    Sums mine = {C(0), C(0)};
    row.each([&](int64_t i, T x) {
      const C p = pulled(i);
      mine.plain += p;
      mine.weighted += p * (C(x) - mean) * rstd;
    });
    const Sums all = fold_row(mine, Sums{C(0), C(0)}, [](Sums a, Sums b) {
      return Sums{a.plain + b.plain, a.weighted + b.weighted};
    });
    const C shift = kCentered ? all.plain / C(call.length) : C(0), slope = all.weighted / C(call.length);
    row.each_to(static_cast<T*>(call.out) + at, [&](int64_t i, T x) {
      return cast<T>(rstd * (pulled(i) - shift - (C(x) - mean) * rstd * slope));
    });
  }
}

template <class C> struct SumPair {
  C first, second;
  static SumPair added(SumPair a, SumPair b) { return {a.first + b.first, a.second + b.second}; }
};

template <class T, class S, bool kCentered> void row_norm_backward_parts(const RowNormCall& call) {
  using C = compute_t<T>;
  const int64_t column = int64_t(blockIdx.x) * 32 + threadIdx.x;
  SumPair<C> mine = {C(0), C(0)};
  if (column < call.length) {
    for (int64_t r = int64_t(blockIdx.y) * blockDim.y + threadIdx.y; r < call.rows;
         r += int64_t(gridDim.y) * blockDim.y) {
      const C g = C(static_cast<const T*>(call.gradient)[r * call.length + column]);
      const C mean = kCentered ? cast<C>(static_cast<const S*>(call.mean)[r]) : C(0);
      const C rstd = cast<C>(static_cast<const S*>(call.rstd)[r]);
      mine.first += g * (C(static_cast<const T*>(call.in)[r * call.length + column]) - mean) * rstd;
      mine.second += g;
    }
  }
  const SumPair<C> all = fold_strip(mine, SumPair<C>::added);
  if (threadIdx.y == 0 && column < call.length) {
    const int64_t at = int64_t(blockIdx.y) * call.length + column;
    if (call.weight_parts) static_cast<C*>(call.weight_parts)[at] = all.first;
    if (call.bias_parts) static_cast<C*>(call.bias_parts)[at] = all.second;
  }
}
template <class C, class W> void parts_added(const PartsCall& call) {
  for (int64_t i = first_index(); i < call.count; i += grid_step()) {
    C sum = 0;
    for (int p = 0; p < call.number; ++p) sum += static_cast<const C*>(call.parts)[p * call.count + i];
    static_cast<W*>(call.out)[i] = cast<W>(sum);
  }
}

// ---- groups of channels ----

template <class T, class W, class S> void group_norm_applied(const GroupNormCall& call) {
  using C = compute_t<T>;
  const int64_t count = call.batch * call.channels * call.space, each = call.channels / call.groups;
  for (int64_t i = first_index(); i < count; i += grid_step()) {
    const int64_t plane = i / call.space, channel = plane % call.channels, group = plane / each;
    const C mean = cast<C>(static_cast<const S*>(call.mean)[group]);
    const C rstd = cast<C>(static_cast<const S*>(call.rstd)[group]);
    const C weight = value_or<C, W>(call.weight, channel, C(1));
    static_cast<T*>(call.out)[i] = cast<T>((C(static_cast<const T*>(call.in)[i]) - mean) * rstd * weight +
                                           value_or<C, W>(call.bias, channel, C(0)));
  }
}
template <class T> void plane_sums(const GroupNormCall& call) {
  using C = compute_t<T>;
  const int lane = int(threadIdx.x % 32);
  for (int64_t plane = first_index() / 32; plane < call.batch * call.channels; plane += grid_step() / 32) {
    SumPair<C> mine = {C(0), C(0)};
    for (int64_t s = lane; s < call.space; s += 32) {
      const C g = C(static_cast<const T*>(call.gradient)[plane * call.space + s]);
      mine.first += g;
      mine.second += g * C(static_cast<const T*>(call.in)[plane * call.space + s]);
    }
    mine = fold_warp(mine, SumPair<C>::added);
    if (lane == 0) {
      static_cast<C*>(call.sums)[plane] = mine.first;
      static_cast<C*>(call.products)[plane] = mine.second;
    }
  }
}
template <class T, class W, class S> void group_norm_coefficients(const GroupNormCall& call) {
  using C = compute_t<T>;
  const int64_t each = call.channels / call.groups;
  for (int64_t g = first_index(); g < call.batch * call.groups; g += grid_step()) {
    C sum = 0, product = 0;
    for (int64_t k = 0; k < each; ++k) {
      const int64_t plane = g * each + k;
      const C weight = value_or<C, W>(call.weight, plane % call.channels, C(1));
      sum += static_cast<const C*>(call.sums)[plane] * weight;
      product += static_cast<const C*>(call.products)[plane] * weight;
    }
    const C mean = cast<C>(static_cast<const S*>(call.mean)[g]),
            rstd = cast<C>(static_cast<const S*>(call.rstd)[g]);
    const C share = C(1) / C(each * call.space);
    const C by_input = (sum * mean - product) * rstd * rstd * rstd * share;
    static_cast<C*>(call.by_input)[g] = by_input;
    static_cast<C*>(call.constant)[g] = -by_input * mean - sum * rstd * share;
  }
}
template <class T, class W, class S> void group_norm_backward_input(const GroupNormCall& call) {
  using C = compute_t<T>;
  const int64_t count = call.batch * call.channels * call.space, each = call.channels / call.groups;
  for (int64_t i = first_index(); i < count; i += grid_step()) {
    const int64_t plane = i / call.space, group = plane / each;
    const C rstd = cast<C>(static_cast<const S*>(call.rstd)[group]);
    const C weight = value_or<C, W>(call.weight, plane % call.channels, C(1));
    static_cast<T*>(call.out)[i] =
        cast<T>(C(static_cast<const T*>(call.gradient)[i]) * weight * rstd +
                C(static_cast<const T*>(call.in)[i]) * static_cast<const C*>(call.by_input)[group] +
                static_cast<const C*>(call.constant)[group]);
  }
}
template <class T, class W, class S> void group_norm_backward_parameters(const GroupNormCall& call) {
  using C = compute_t<T>;
  const int64_t each = call.channels / call.groups;
  for (int64_t c = first_index(); c < call.channels; c += grid_step()) {
    C weight = 0, bias = 0;
    for (int64_t n = 0; n < call.batch; ++n) {
      const int64_t plane = n * call.channels + c, group = plane / each;
      const C sum = static_cast<const C*>(call.sums)[plane];
      weight += (static_cast<const C*>(call.products)[plane] -
                 sum * cast<C>(static_cast<const S*>(call.mean)[group])) *
                cast<C>(static_cast<const S*>(call.rstd)[group]);
      bias += sum;
    }
    if (call.grad_weight) static_cast<W*>(call.grad_weight)[c] = cast<W>(weight);
    if (call.grad_bias) static_cast<W*>(call.grad_bias)[c] = cast<W>(bias);
  }
}

// ---- channels over the batch ----

// f(offset) for this thread's elements of a channel; the block's part is blockIdx.y.
template <bool kInside, class F> void over_channel(const ChannelNormCall& call, int64_t channel, F f) {
  const int64_t count = call.batch * call.space;
  const int64_t lane = kInside ? threadIdx.y : threadIdx.x, lanes = kInside ? blockDim.y : blockDim.x;
  for (int64_t j = blockIdx.y * lanes + lane; j < count; j += gridDim.y * lanes)
    f(j / call.space * call.batch_stride + channel * call.channel_stride +
      j % call.space * call.space_stride);
}
// A fold over the threads that share a channel, and whether this thread writes the result.
template <bool kInside, class A, class F> A fold_channel(A mine, A nothing, F f) {
  if constexpr (kInside) return fold_strip(mine, f);
  else return fold_block(mine, nothing, f);
}
template <bool kInside> int64_t channel_here() {
  return kInside ? int64_t(blockIdx.x) * 32 + threadIdx.x : int64_t(blockIdx.x);
}
template <bool kInside> bool writes_channel() { return kInside ? threadIdx.y == 0 : threadIdx.x == 0; }

template <class T, bool kInside> void channel_moments(const ChannelNormCall& call) {
  using C = compute_t<T>;
  const int64_t channel = channel_here<kInside>();
  Moments<C> mine = Moments<C>::none();
  if (channel < call.channels)
    over_channel<kInside>(call, channel,
                          [&](int64_t at) { mine.take(C(static_cast<const T*>(call.in)[at])); });
  const Moments<C> all = fold_channel<kInside>(mine, Moments<C>::none(), Moments<C>::merged);
  if (channel < call.channels && writes_channel<kInside>())
    static_cast<Moments<C>*>(call.parts)[channel * call.number + blockIdx.y] = all;
}
template <class T, class S, class R> void channel_statistics(const ChannelNormCall& call) {
  using C = compute_t<T>;
  for (int64_t c = first_index(); c < call.channels; c += grid_step()) {
    Moments<C> all = Moments<C>::none();
    for (int p = 0; p < call.number; ++p)
      all = Moments<C>::merged(all, static_cast<const Moments<C>*>(call.parts)[c * call.number + p]);
    const C count = C(call.batch * call.space), variance = all.squares / count;
    static_cast<S*>(call.mean)[c] = cast<S>(all.mean);
    static_cast<S*>(call.spread)[c] = cast<S>(C(1) / std::sqrt(variance + C(call.eps)));
    const auto blend = [&](void* running, C value) {
      R& kept = static_cast<R*>(running)[c];
      kept = cast<R>((C(1) - C(call.momentum)) * cast<C>(kept) + C(call.momentum) * value);
    };
    if (call.running_mean) blend(call.running_mean, all.mean);
    if (call.running_var) blend(call.running_var, all.squares / (count - C(1)));
  }
}

// The channel of element i and where it lies, in the order of memory.
struct ChannelPlace {
  int64_t channel, at;
};
inline ChannelPlace channel_place(const ChannelNormCall& call, int64_t i) {
  if (call.channel_stride == 1) {
    const int64_t channel = i % call.channels, rest = i / call.channels;
    return {channel, rest / call.space * call.batch_stride + channel + rest % call.space * call.space_stride};
  }
  const int64_t plane = i / call.space, channel = plane % call.channels;
  return {channel, plane / call.channels * call.batch_stride + channel * call.channel_stride +
                       i % call.space * call.space_stride};
}
template <class C, class S> C channel_scale(const ChannelNormCall& call, int64_t channel) {
  const C spread = cast<C>(static_cast<const S*>(call.spread)[channel]);
  return call.training ? spread : C(1) / std::sqrt(spread + C(call.eps));
}

template <class T, class W, class S> void channel_applied(const ChannelNormCall& call) {
  using C = compute_t<T>;
  for (int64_t i = first_index(); i < call.batch * call.channels * call.space; i += grid_step()) {
    const ChannelPlace place = channel_place(call, i);
    const C mean = cast<C>(static_cast<const S*>(call.mean)[place.channel]);
    const C scale =
        channel_scale<C, S>(call, place.channel) * value_or<C, W>(call.weight, place.channel, C(1));
    static_cast<T*>(call.out)[place.at] =
        cast<T>((C(static_cast<const T*>(call.in)[place.at]) - mean) * scale +
                value_or<C, W>(call.bias, place.channel, C(0)));
  }
}

template <class T, class S, bool kInside> void channel_products(const ChannelNormCall& call) {
  using C = compute_t<T>;
  const int64_t channel = channel_here<kInside>();
  SumPair<C> mine = {C(0), C(0)};
  if (channel < call.channels) {
    const C mean = cast<C>(static_cast<const S*>(call.mean)[channel]);
    over_channel<kInside>(call, channel, [&](int64_t at) {
      const C g = C(static_cast<const T*>(call.gradient)[at]);
      mine.first += g;
      mine.second += g * (C(static_cast<const T*>(call.in)[at]) - mean);
    });
  }
  const SumPair<C> all = fold_channel<kInside>(mine, SumPair<C>{C(0), C(0)}, SumPair<C>::added);
  if (channel < call.channels && writes_channel<kInside>())
    static_cast<SumPair<C>*>(call.parts)[channel * call.number + blockIdx.y] = all;
}
template <class T, class W, class S> void channel_totals(const ChannelNormCall& call) {
  using C = compute_t<T>;
  for (int64_t c = first_index(); c < call.channels; c += grid_step()) {
    SumPair<C> all = {C(0), C(0)};
    for (int p = 0; p < call.number; ++p)
      all = SumPair<C>::added(all, static_cast<const SumPair<C>*>(call.parts)[c * call.number + p]);
    if (call.totals) static_cast<SumPair<C>*>(call.totals)[c] = all;
    if (call.grad_weight)
      static_cast<W*>(call.grad_weight)[c] = cast<W>(all.second * channel_scale<C, S>(call, c));
    if (call.grad_bias) static_cast<W*>(call.grad_bias)[c] = cast<W>(all.first);
  }
}
template <class T, class W, class S> void channel_backward_input(const ChannelNormCall& call) {
  using C = compute_t<T>;
  const C share = C(1) / C(call.batch * call.space);
  for (int64_t i = first_index(); i < call.batch * call.channels * call.space; i += grid_step()) {
    const ChannelPlace place = channel_place(call, i);
    const C scale = channel_scale<C, S>(call, place.channel);
    C pulled = C(static_cast<const T*>(call.gradient)[place.at]);
    if (call.training) {
      const SumPair<C> all = static_cast<const SumPair<C>*>(call.totals)[place.channel];
      const C away = C(static_cast<const T*>(call.in)[place.at]) -
                     cast<C>(static_cast<const S*>(call.mean)[place.channel]);
      pulled -= (all.first + away * scale * scale * all.second) * share;
    }
    static_cast<T*>(call.out)[place.at] =
        cast<T>(pulled * scale * value_or<C, W>(call.weight, place.channel, C(1)));
  }
}

}  // namespace mt::cuda
