// The weights' gradient of convolutions of every channel by itself, where the channels of a place lie together
// (Note [Channels side by side] in depthwise.h): the sums of as many channels as a vector has are made at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/conv/geometry.h"
#include "kernels/conv/shares.h"

namespace mt::kernels::convolution {

// The outputs [first, last) of a row, or rows of them, for which a tap is inside the image.
struct OutputsInside {
  int64_t first, last;
};

// What a row of outputs and a row of the image add to the sums of a line of taps.
template <class T>
struct ChannelProducts {
  static constexpr int kVectors = 2, kColumns = 4;
  typedef T V __attribute__((vector_size(32)));

  struct Row {
    const T *image, *slopes;  // the place that the first tap of output 0 would read; output 0
    T* sums;                  // [tap, channel]
    int64_t channels, taps;
    int64_t image_step, tap_step, slope_step, sum_step;
    const OutputsInside* inside;  // of each tap
  };

  [[gnu::always_inline]] static inline void run(const Row* row) {
    const Row& r = *row;
    for (int64_t tap = 0, columns; tap < r.taps; tap += columns) {
      columns = std::min<int64_t>(kColumns, r.taps - tap);
      if (columns == 4) of_columns<4>(r, tap);
      else if (columns == 3) of_columns<3>(r, tap);
      else if (columns == 2) of_columns<2>(r, tap);
      else of_columns<1>(r, tap);
    }
  }

 private:
  template <int kTaps>
  [[gnu::always_inline]] static inline void of_columns(const Row& r, int64_t tap) {
    int64_t c = 0;
    c = add<V, kVectors, kTaps>(r, tap, c);
    c = add<V, 1, kTaps>(r, tap, c);
    add<T, 1, kTaps>(r, tap, c);
  }

  // For channels [c, …), as many as there are whole ones of kCount numbers or vectors; returns where these end.
  template <class N, int kCount, int kTaps>
  [[gnu::always_inline]] static inline int64_t add(const Row& r, int64_t tap, int64_t c) {
    constexpr int64_t size = int64_t(sizeof(N) / sizeof(T));
    const auto at = [](const T* from) __attribute__((always_inline)) {
      N value;
      std::memcpy(&value, from, sizeof(N));
      return value;
    };
    // The outputs that all of these taps have; the few besides are some taps' own.
    OutputsInside all = r.inside[tap];
    for (int k = 1; k < kTaps; ++k)
      all = {std::max(all.first, r.inside[tap + k].first), std::min(all.last, r.inside[tap + k].last)};
    all.last = std::max(all.first, all.last);
    for (; c + kCount * size <= r.channels; c += kCount * size) {
      N own[kTaps][kCount];
      const T *image = r.image + tap * r.tap_step + c, *slopes = r.slopes + c;
      for (int k = 0; k < kTaps; ++k) {
        for (int v = 0; v < kCount; ++v) own[k][v] = at(r.sums + (tap + k) * r.sum_step + c + v * size);
        const OutputsInside& inside = r.inside[tap + k];
        const auto range = [&](int64_t first, int64_t last) __attribute__((always_inline)) {
          for (int64_t x = first; x < last; ++x)
            for (int v = 0; v < kCount; ++v)
              own[k][v] += at(slopes + x * r.slope_step + v * size) *
                           at(image + x * r.image_step + k * r.tap_step + v * size);
        };
        range(inside.first, std::min(all.first, inside.last));
        range(std::max(all.last, inside.first), inside.last);
      }
      for (int64_t x = all.first; x < all.last; ++x)
        for (int v = 0; v < kCount; ++v) {
          const N slope = at(slopes + x * r.slope_step + v * size);
          for (int k = 0; k < kTaps; ++k)
            own[k][v] += slope * at(image + x * r.image_step + k * r.tap_step + v * size);
        }
      for (int k = 0; k < kTaps; ++k)
        std::memcpy(r.sums + (tap + k) * r.sum_step + c, own[k], sizeof(own[k]));
    }
    return c;
  }
};

template <class T>
class DepthwiseWeight {
 public:
  DepthwiseWeight(const View& wide, const View& narrow, const Geometry& g)
      : wide_(wide), narrow_(narrow), g_(g) {
    for (size_t d = 0; d < 3; ++d)
      for (int64_t k = 0; k < g.kernel[d]; ++k) inside_[d].push_back(inside(d, k));
  }

  // As ImageSums: a sum per range of the images, added in order afterwards.
  void run(const View& weight) const {
    const int64_t channels = g_.groups, blocks = (channels + kBlock - 1) / kBlock, size = g_.taps * channels;
    const Shares shares(g_.batch, blocks, 1);
    const int64_t ranges = g_.batch == 0 ? 0 : shares.ranges;
    T* sums = ConvolutionBuffers::shared->template room<T>(std::max<int64_t>(1, ranges) * size);
    parallel_for(0, shares.count(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t share = begin; share < end; ++share) {
        const auto [first, last] = shares.parts_of(share);
        const int64_t from = first * kBlock, to = std::min(channels, last * kBlock);
        T* own = sums + share / shares.pieces * size;
        for (int64_t t = 0; t < g_.taps; ++t)
          std::fill(own + t * channels + from, own + t * channels + to, T(0));
        for (int64_t n = shares.first_of(share); n < shares.first_of(share + shares.pieces); ++n)
          add_image(n, from, to, own);
      }
    });
    const Dense weights(weight, weight.dtype, Access::write);
    T* result = weights.view().template as<T>();
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < g_.taps; ++t) {
        T total = T(0);
        for (int64_t r = 0; r < ranges; ++r) total += sums[r * size + t * channels + c];
        result[c * g_.taps + t] = total;
      }
    weights.store();
  }

 private:
  static constexpr int64_t kBlock = 64;  // channels

  OutputsInside inside(size_t d, int64_t tap) const {
    const int64_t stride = g_.stride[d], shift = tap * g_.dilation[d] - g_.padding[d];
    const auto outputs_before = [&](int64_t place) {
      return std::clamp<int64_t>(place > shift ? (place - shift + stride - 1) / stride : 0, 0, g_.out[d]);
    };
    return {outputs_before(0), outputs_before(g_.in[d])};
  }

  // The channels [from, to) of one image.
  void add_image(int64_t n, int64_t from, int64_t to, T* sums) const {
    const int64_t *w = wide_.strides, *s = narrow_.strides;
    for (int64_t i = 0; i < g_.out[0]; ++i)
      for (int64_t j = 0; j < g_.out[1]; ++j) {
        const T* slopes = narrow_.as<const T>() + n * s[0] + i * s[2] + j * s[3] + from;
        for (int64_t a = 0; a < g_.kernel[0]; ++a) {
          const OutputsInside& depth = inside_[0][size_t(a)];
          if (i < depth.first || i >= depth.last) continue;
          for (int64_t b = 0; b < g_.kernel[1]; ++b) {
            const OutputsInside& line = inside_[1][size_t(b)];
            if (j < line.first || j >= line.last) continue;
            const T* image = row_of<T>(wide_, n, 0, i * g_.stride[0] + a * g_.dilation[0] - g_.padding[0],
                                       j * g_.stride[1] + b * g_.dilation[1] - g_.padding[1]);
            const typename ChannelProducts<T>::Row row{
                image - g_.padding[2] * w[4] + from,
                slopes,
                sums + (a * g_.kernel[1] + b) * g_.kernel[2] * g_.groups + from,
                to - from,
                g_.kernel[2],
                g_.stride[2] * w[4],
                g_.dilation[2] * w[4],
                s[4],
                g_.groups,
                inside_[2].data()};
            at_level<ChannelProducts<T>>(&row);
          }
        }
      }
  }

  const View &wide_, &narrow_;
  const Geometry& g_;
  std::array<std::vector<OutputsInside>, 3> inside_;
};

}  // namespace mt::kernels::convolution
