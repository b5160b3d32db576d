// Regions of images brought to one size by averaging interpolated samples.
//
// Launch: block 256, any grid; a thread for each bin of each channel.
//   region_averaged<T>(RegionCall)
//   region_spread<T>: its gradient, added to images of the compute type in no fixed order, as in PyTorch.
#pragma once

#include "backends/cuda/device/places.h"

namespace mt::cuda {

// The samples of one bin along one dimension.
template <class C> struct RegionLine {
  C start, step;
  int64_t samples, pixels;

  RegionLine(C first, C length, int64_t bins, int64_t bin, int64_t pixels, int64_t wanted) : pixels(pixels) {
    step = length / C(bins);
    start = first + C(bin) * step;
    // A box that ends before it starts, or that is no box, has none; of a very large one nearly nothing is in the image.
    const C as_many = step < C(1e6) ? step : C(1e6);
    samples = wanted > 0                                                    ? wanted
              : as_many > C(0) && step < std::numeric_limits<C>::infinity() ? int64_t(std::ceil(as_many))
                                                                            : 0;
  }
  // f(pixel, weight) for the two pixels around a sample; samples outside the image read nothing.
  template <class F> void at(int64_t sample, F f) const {
    C place = start + (C(sample) + C(0.5)) * step / C(samples);
    if (!(place >= C(-1) && place <= C(pixels))) return;
    place = place > C(0) ? place : C(0);
    const int64_t low = int64_t(place) < pixels - 1 ? int64_t(place) : pixels - 1;
    const C part = low < pixels - 1 ? place - C(low) : C(0);
    f(low, C(1) - part);
    if (part > C(0)) f(low + 1, part);
  }
};

// f(plane, pixel, weight) for all that a bin is the mean of.
template <class C, class T, class F> void over_bin(const RegionCall& call, int64_t n, F f) {
  const int64_t column = n % call.across, row = n / call.across % call.down,
                channel = n / (call.across * call.down) % call.channels,
                box = n / (call.across * call.down * call.channels);
  const T* given = static_cast<const T*>(call.boxes) + box * 5;
  const int64_t image = checked_index(int64_t(C(given[0])), call.images, false);
  const C scale = C(call.scale), shift = call.aligned ? C(0.5) : C(0);
  const C left = C(given[1]) * scale - shift, top = C(given[2]) * scale - shift;
  C wide = C(given[3]) * scale - shift - left, high = C(given[4]) * scale - shift - top;
  if (!call.aligned) wide = wide > C(1) ? wide : C(1), high = high > C(1) ? high : C(1);
  const RegionLine<C> rows(top, high, call.down, row, call.height, call.samples),
      columns(left, wide, call.across, column, call.width, call.samples);
  const C count = C(rows.samples) * C(columns.samples), share = C(1) / (count > C(1) ? count : C(1));
  const int64_t plane = (image * call.channels + channel) * call.height * call.width;
  for (int64_t i = 0; i < rows.samples; ++i)
    rows.at(i, [&](int64_t y, C of_row) {
      for (int64_t j = 0; j < columns.samples; ++j)
        columns.at(
            j, [&](int64_t x, C of_column) { f(plane + y * call.width + x, of_row * of_column * share); });
    });
}
inline int64_t bins_of(const RegionCall& call) {
  return call.number * call.channels * call.down * call.across;
}

template <class T> void region_averaged(const RegionCall& call) {
  using C = compute_t<T>;
  for (int64_t n = first_index(); n < bins_of(call); n += grid_step()) {
    C sum = C(0);
    over_bin<C, T>(call, n,
                   [&](int64_t at, C weight) { sum += weight * C(static_cast<const T*>(call.in)[at]); });
    static_cast<T*>(call.out)[n] = cast<T>(sum);
  }
}
template <class T> void region_spread(const RegionCall& call) {
  using C = compute_t<T>;
  for (int64_t n = first_index(); n < bins_of(call); n += grid_step()) {
    const C gradient = C(static_cast<const T*>(call.in)[n]);
    over_bin<C, T>(call, n, [&](int64_t at, C weight) {
      add_at_once(static_cast<C*>(call.out) + at, weight * gradient);
    });
  }
}

}  // namespace mt::cuda
