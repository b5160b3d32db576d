// Convolutions of every channel by itself, where the channels of a place lie together.
//
// Note [Channels side by side]
// A group of one channel is a line of memory only where rows of places are. In images that are stored place by place (as
// torch.channels_last) lines are made of channels instead: the sums of as many as a vector has are made at once, from
// the taps that are inside the image, so nothing is padded or moved.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/conv/geometry.h"
#include "kernels/conv/shares.h"

namespace mt::kernels::convolution {

// Along one dimension: the taps of an output that are inside the image, and where the first of them is.
struct TapsInside {
  int64_t tap, taps, place;
};

// A row of outputs. An image's and the weights' taps are `steps` and `weight_steps` apart.
template <class T>
struct ChannelSums {
  static constexpr int64_t kVectors = 4;
  typedef T V __attribute__((vector_size(32)));
  using Steps = std::array<int64_t, 3>;

  struct Row {
    const T *image, *weights, *start;  // what each sum starts with
    T* to;
    int64_t channels, outputs, image_step, to_step;  // of places
    TapsInside depth, line;
    const TapsInside* columns;
    Steps steps, weight_steps;
  };

  [[gnu::always_inline]] static inline void run(const Row* row) {
    const Row& r = *row;
    for (int64_t x = 0, places; x < r.outputs; x += places) {
      const TapsInside* column = r.columns + x;
      const bool two = x + 1 < r.outputs && column[1].tap == column->tap && column[1].taps == column->taps;
      if (two) place<2>(r, column, r.to + x * r.to_step);
      else place<1>(r, column, r.to + x * r.to_step);
      places = two ? 2 : 1;
    }
  }

 private:
  // kPlaces outputs with the same taps, which read each weight once.
  template <int kPlaces>
  [[gnu::always_inline]] static inline void place(const Row& r, const TapsInside* column, T* to) {
    int64_t c = 0;
    c = sums<V, kVectors, kPlaces>(r, column, c, to);
    c = sums<V, 1, kPlaces>(r, column, c, to);
    sums<T, 1, kPlaces>(r, column, c, to);
  }
  // Of channels [c, …), as many as there are whole ones of kCount numbers or vectors; returns where these end.
  template <class N, int kCount, int kPlaces>
  [[gnu::always_inline]] static inline int64_t sums(const Row& r, const TapsInside* column, int64_t c,
                                                    T* to) {
    constexpr int64_t size = int64_t(sizeof(N) / sizeof(T));
    const auto at = [](const T* from) __attribute__((always_inline)) {
      N value;
      std::memcpy(&value, from, sizeof(N));
      return value;
    };
    const T* image = r.image + column->place * r.image_step;
    const T* weights = r.weights + column->tap * r.weight_steps[2];
    const int64_t columns = column->taps;
    const int64_t next = kPlaces == 2 ? (column[1].place - column->place) * r.image_step : 0;
    for (; c + kCount * size <= r.channels; c += kCount * size) {
      N own[kPlaces][kCount];
      for (int v = 0; v < kCount; ++v)
        for (int p = 0; p < kPlaces; ++p) own[p][v] = at(r.start + c + v * size);
      for (int64_t i = 0; i < r.depth.taps; ++i)
        for (int64_t j = 0; j < r.line.taps; ++j) {
          const T* x = image + i * r.steps[0] + j * r.steps[1] + c;
          const T* w = weights + i * r.weight_steps[0] + j * r.weight_steps[1] + c;
          for (int64_t k = 0; k < columns; ++k, x += r.steps[2], w += r.weight_steps[2])
            for (int v = 0; v < kCount; ++v) {
              const N weight = at(w + v * size);
              for (int p = 0; p < kPlaces; ++p) own[p][v] += weight * at(x + p * next + v * size);
            }
        }
      for (int p = 0; p < kPlaces; ++p) std::memcpy(to + p * r.to_step + c, own[p], sizeof(own[p]));
    }
    return c;
  }
};

template <class T>
class Depthwise {
 public:
  static bool applies(const View& wide, const View& narrow, const Geometry& g) {
    return g.in_channels == 1 && g.out_channels == 1 && g.groups > 1 && wide.strides[1] == 1 &&
           narrow.strides[1] == 1;
  }

  // pack(group, 0, 1, to) puts the taps of a group there, in the other order if they are turned round.
  template <class F>
  Depthwise(const View& wide, const View* bias, const View& narrow, const Geometry& g, bool turned_round,
            const F& pack)
      : wide_(wide), narrow_(narrow), g_(g) {
    const int64_t taps = g.taps, channels = g.groups;
    T* weights = ConvolutionBuffers::shared->template room<T>((taps + 1) * channels + taps);
    T* own = weights + (taps + 1) * channels;
    weights_ = weights;
    for (int64_t c = 0; c < channels; ++c) {
      pack(c, 0, 1, own);
      for (int64_t t = 0; t < taps; ++t) weights[t * channels + c] = own[turned_round ? taps - 1 - t : t];
      weights[taps * channels + c] = bias ? bias->as<const T>()[c * bias->strides[0]] : T(0);
    }
    for (size_t d = 0; d < 3; ++d)
      for (int64_t o = 0; o < g.out[d]; ++o) inside_[d].push_back(taps_of(d, o));
  }

  void run() const {
    const int64_t rows = g_.out[0] * g_.out[1], row = g_.out[2] * g_.groups * g_.taps;
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, row));
    parallel_for(0, g_.batch * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) one(r / rows, r % rows / g_.out[1], r % g_.out[1]);
    });
  }

 private:
  TapsInside taps_of(size_t d, int64_t output) const {
    const int64_t start = output * g_.stride[d] - g_.padding[d], step = g_.dilation[d];
    const auto before = [&](int64_t place) {  // how many taps are
      return std::clamp<int64_t>(place > start ? (place - start + step - 1) / step : 0, 0, g_.kernel[d]);
    };
    const int64_t first = before(0);
    return {first, before(g_.in[d]) - first, start + first * step};
  }
  void one(int64_t n, int64_t depth, int64_t line) const {
    const int64_t* s = wide_.strides;
    const TapsInside &i = inside_[0][size_t(depth)], &j = inside_[1][size_t(line)];
    const int64_t channels = g_.groups;
    const std::array<int64_t, 3> weight_steps{g_.kernel[1] * g_.kernel[2] * channels, g_.kernel[2] * channels,
                                              channels};
    const typename ChannelSums<T>::Row row{
        row_of<T>(wide_, n, 0, i.place, j.place),
        weights_ + i.tap * weight_steps[0] + j.tap * weight_steps[1],
        weights_ + g_.taps * channels,
        narrow_.as<T>() + n * narrow_.strides[0] + depth * narrow_.strides[2] + line * narrow_.strides[3],
        channels,
        g_.out[2],
        s[4],
        narrow_.strides[4],
        i,
        j,
        inside_[2].data(),
        {g_.dilation[0] * s[2], g_.dilation[1] * s[3], g_.dilation[2] * s[4]},
        weight_steps};
    at_level<ChannelSums<T>>(&row);
  }

  const View &wide_, &narrow_;
  const Geometry& g_;
  const T* weights_;  // [taps, channels], and what each sum starts with
  std::array<std::vector<TapsInside>, 3> inside_;
};

}  // namespace mt::kernels::convolution
