// Convolutions whose kernel has one element: every image is a matrix, channels by places, and the convolution a product.
#pragma once

#include <algorithm>
#include <optional>

#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/matmul/gemm.h"

namespace mt::kernels {

// [batch, channels, places]: a view of images whose places lie evenly.
template <class T>
struct Images {
  T* data;
  int64_t image, channel, place;  // steps

  // The step from place to place, if these lie evenly; 0 where one number stands for all.
  static std::optional<int64_t> step_of(const View& v) {
    std::optional<int64_t> step;
    int64_t span = 0;
    for (int d = 4; d >= 2; --d) {
      if (v.sizes[d] == 1) continue;
      if (step && v.strides[d] != span) return std::nullopt;
      if (!step) step = v.strides[d];
      span = v.strides[d] * v.sizes[d];
    }
    return step.value_or(1);
  }
  explicit Images(const View& v)
      : data(v.as<T>()), image(v.strides[0]), channel(v.strides[1]), place(*step_of(v)) {}
  T* at(int64_t n, int64_t first_channel) const { return data + n * image + first_channel * channel; }
  Factor factor(int64_t n, int64_t first_channel) const {
    return {at(n, first_channel), channel, place, dtype_of<T>};
  }
  Result<T> result(int64_t n, int64_t first_channel) const { return {at(n, first_channel), channel, place}; }
};

template <class T>
struct SingleTap {
  int64_t batch, groups, in_channels, out_channels, places;  // channels of a group
  Images<T> wide, narrow;
  T* weight;
  int64_t weight_row, weight_column;  // steps

  // Images whose places follow those of the image before, channels lying together, are one.
  void join() {
    if (wide.image != places * wide.place || narrow.image != places * narrow.place) return;
    places *= batch;
    batch = std::min<int64_t>(batch, 1);
  }

  Factor weights(int64_t group) const {
    return {weight + group * out_channels * weight_row, weight_row, weight_column, dtype_of<T>};
  }
  // f(image, group) for all; small products are spread over the threads, large ones follow one another on all.
  template <class F>
  void for_each_product(const F& f) const {
    const int64_t work = std::max<int64_t>(1, in_channels * out_channels * places), count = batch * groups;
    const int64_t grain = work > (int64_t(1) << 21) ? count : std::max<int64_t>(1, 8 * kGrain / work);
    parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i / groups, i % groups);
    });
  }
  // What a product is added to: one number for each channel.
  void put_bias(const View& bias, const Images<T>& to, int64_t n, int64_t first, int64_t channels) const {
    const int64_t step = bias.strides[0];
    const T* values = bias.as<T>() + first * step;
    T* data = to.at(n, first);
    if (to.channel < to.place) {  // along memory
      for (int64_t p = 0; p < places; ++p)
        for (int64_t c = 0; c < channels; ++c) data[p * to.place + c * to.channel] = values[c * step];
    } else {
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t p = 0; p < places; ++p) data[c * to.channel + p * to.place] = values[c * step];
    }
  }
  void forward(const View* bias) const {
    for_each_product([&](int64_t n, int64_t group) {
      const int64_t first = group * out_channels;
      if (bias) put_bias(*bias, narrow, n, first, out_channels);
      packed_product<T>(out_channels, places, in_channels, T(1), weights(group),
                        wide.factor(n, group * in_channels), T(bias ? 1 : 0), narrow.result(n, first));
    });
  }
  void transposed(const View* bias) const {
    for_each_product([&](int64_t n, int64_t group) {
      const int64_t first = group * in_channels;
      if (bias) put_bias(*bias, wide, n, first, in_channels);
      packed_product<T>(in_channels, places, out_channels, T(1), weights(group).transposed(),
                        narrow.factor(n, group * out_channels), T(bias ? 1 : 0), wide.result(n, first));
    });
  }
  // Images one after the other, so that the sum does not depend on the number of threads.
  void weight_gradient() const {
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t n = 0; n < batch; ++n)
        packed_product<T>(out_channels, in_channels, places, T(1), narrow.factor(n, group * out_channels),
                          wide.factor(n, group * in_channels).transposed(), T(n ? 1 : 0),
                          {weight + group * out_channels * weight_row, weight_row, weight_column});
  }
};

}  // namespace mt::kernels
