// Interpolation as separable weighted sums, dimension by dimension, and sampling at the positions of a grid.
//
// Launch: block 256, any grid; elements of the result are strided over.
//   taps_made(TapsCall): writes firsts, counts and weights, a thread for each output.
//   taps_applied<T>: one dimension, by those tables.
//   taps_transposed<T>: its gradient, [outer, out, inner] -> [outer, in, inner]; firsts ascend. Sums in a fixed order.
//   grid_sampled<T>(GridCall): a thread for each position of each batch, over all channels.
//   grid_sampled_backward<T>: the same; adds to grad_in in no fixed order, as in PyTorch.
#pragma once

#include "backends/cuda/device/places.h"
#include "kernels/resample/grid_reads.h"
#include "kernels/resample/interpolated_line.h"

namespace mt::cuda {

// A sum on its way back to T.
template <class T, class C> T resampled_as(C sum, bool round) {
  if constexpr (std::is_integral_v<T>) {
    if (!round) return cast<T>(sum);
    const C whole = std::rint(sum), low = C(std::numeric_limits<T>::lowest()),
            high = C(std::numeric_limits<T>::max());
    return cast<T>(whole < low ? low : whole > high ? high : whole);
  } else {
    return cast<T>(sum);
  }
}
template <class T> using resample_t = std::conditional_t<std::is_integral_v<T>, double, compute_t<T>>;

inline void taps_made(const TapsCall& call) {
  const kernels::InterpolatedLine line{
      kernels::Interpolation(call.mode), call.in,         call.out, call.scale,
      call.align_corners != 0,           call.single != 0};
  for (int64_t o = first_index(); o < call.out; o += grid_step()) {
    int64_t first = 0, count = 0;
    line.weigh(o, first, count, call.weights + o * call.width);
    call.firsts[o] = first;
    call.counts[o] = count;
  }
}
template <class T> void taps_applied(const TapsCall& call) {
  using C = resample_t<T>;
  for (int64_t n = first_index(); n < call.outer * call.out * call.inner; n += grid_step()) {
    const int64_t inner = n % call.inner, o = n / call.inner % call.out, outer = n / call.inner / call.out;
    const T* from =
        static_cast<const T*>(call.from) + (outer * call.in + call.firsts[o]) * call.inner + inner;
    C sum = C(0);
    for (int64_t k = 0; k < call.counts[o]; ++k)
      sum = sum + cast<C>(from[k * call.inner]) * cast<C>(call.weights[o * call.width + k]);
    static_cast<T*>(call.to)[n] = resampled_as<T>(sum, call.round != 0);
  }
}
template <class T> void taps_transposed(const TapsCall& call) {
  using C = compute_t<T>;
  for (int64_t n = first_index(); n < call.outer * call.in * call.inner; n += grid_step()) {
    const int64_t inner = n % call.inner, i = n / call.inner % call.in, outer = n / call.inner / call.in;
    const T* from = static_cast<const T*>(call.from) + outer * call.out * call.inner + inner;
    int64_t low = 0, high = call.out;  // the first output whose window may reach i
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (call.firsts[middle] + call.width <= i) low = middle + 1;
      else high = middle;
    }
    C sum = C(0);
    for (int64_t o = low; o < call.out && call.firsts[o] <= i; ++o) {
      const int64_t k = i - call.firsts[o];
      if (k < call.counts[o])
        sum = sum + cast<C>(from[o * call.inner]) * cast<C>(call.weights[o * call.width + k]);
    }
    static_cast<T*>(call.to)[n] = cast<T>(sum);
  }
}

// f(offset in a channel, weight, slopes by each coordinate) for the elements that a position reads.
template <class C, class T, class F> void over_reads(const GridCall& call, const T* coordinates, F f) {
  const kernels::GridOptions options = {kernels::GridMode(call.mode), kernels::GridPadding(call.padding),
                                        call.align_corners != 0};
  struct Reads {
    int count;
    int32_t index[4];
    C weight[4], slope[4];
  } reads[3];
  for (int d = 0; d < call.dims; ++d) {  // the last dimension's coordinate comes first
    reads[d].count = kernels::reads_of(options.mode);
    kernels::reads<C>(C(coordinates[call.dims - 1 - d]), call.sizes[d], options,
                      [&](int k, int32_t index, C weight, C slope) {
                        reads[d].index[k] = index, reads[d].weight[k] = weight, reads[d].slope[k] = slope;
                      });
  }
  if (call.dims == 2) reads[2] = {1, {0, 0, 0, 0}, {C(1), C(0), C(0), C(0)}, {C(0), C(0), C(0), C(0)}};
  const int64_t width = call.dims == 3 ? call.sizes[2] : 1;
  for (int a = 0; a < reads[0].count; ++a)
    for (int b = 0; b < reads[1].count; ++b)
      for (int c = 0; c < reads[2].count; ++c) {
        const int64_t x = reads[0].index[a], y = reads[1].index[b], z = reads[2].index[c];
        if (x < 0 || y < 0 || z < 0) continue;
        const C wa = reads[0].weight[a], wb = reads[1].weight[b], wc = reads[2].weight[c];
        const C slopes[3] = {reads[0].slope[a] * wb * wc, wa * reads[1].slope[b] * wc,
                             wa * wb * reads[2].slope[c]};
        f((x * call.sizes[1] + y) * width + z, wa * wb * wc, slopes);
      }
}
inline int64_t grid_volume(const GridCall& call) {
  return call.sizes[0] * call.sizes[1] * (call.dims == 3 ? call.sizes[2] : 1);
}

template <class T> void grid_sampled(const GridCall& call) {
  using C = compute_t<T>;
  const int64_t volume = grid_volume(call);
  for (int64_t n = first_index(); n < call.batch * call.positions; n += grid_step()) {
    const int64_t batch = n / call.positions, position = n % call.positions;
    const T* grid = static_cast<const T*>(call.grid) + n * call.dims;
    for (int64_t channel = 0; channel < call.channels; ++channel) {
      const int64_t plane = batch * call.channels + channel;
      const T* in = static_cast<const T*>(call.in) + plane * volume;
      C sum = C(0);
      over_reads<C>(call, grid, [&](int64_t at, C weight, const C*) { sum += C(in[at]) * weight; });
      static_cast<T*>(call.out)[plane * call.positions + position] = cast<T>(sum);
    }
  }
}
template <class T> void grid_sampled_backward(const GridCall& call) {
  using C = compute_t<T>;
  const int64_t volume = grid_volume(call);
  for (int64_t n = first_index(); n < call.batch * call.positions; n += grid_step()) {
    const int64_t batch = n / call.positions, position = n % call.positions;
    C slopes[3] = {C(0), C(0), C(0)};
    for (int64_t channel = 0; channel < call.channels; ++channel) {
      const int64_t plane = batch * call.channels + channel;
      const T* in = static_cast<const T*>(call.in) + plane * volume;
      const C gradient = C(static_cast<const T*>(call.gradient)[plane * call.positions + position]);
      over_reads<C>(
          call, static_cast<const T*>(call.grid) + n * call.dims, [&](int64_t at, C weight, const C* slope) {
            if (call.grad_in)
              add_at_once(static_cast<T*>(call.grad_in) + plane * volume + at, cast<T>(gradient * weight));
            for (int d = 0; d < 3; ++d) slopes[d] += gradient * C(in[at]) * slope[d];
          });
    }
    if (call.grad_grid)
      for (int d = 0; d < call.dims; ++d)
        static_cast<T*>(call.grad_grid)[n * call.dims + call.dims - 1 - d] = cast<T>(slopes[d]);
  }
}

}  // namespace mt::cuda
