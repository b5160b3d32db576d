// Note [Convolution without unrolling]
// With a stride of 1 the patches of an image that is padded with zeros are shifts of it: input k of the output at
// flat position p (rows as wide as the padded image's) lies at p + offset[k]. So the matrix product runs on the
// padded image itself; only the few columns that belong to no output are computed for nothing. Other strides
// gather a block of patches first, after which the same products serve.
#include "kernels/conv/conv.h"

#include <algorithm>
#include <complex>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/common/copy.h"
#include "kernels/common/dense.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/conv/single_tap.h"
#include "kernels/matmul/packed_rows.h"

namespace mt::kernels {
namespace {

// A convolution's sizes, per group.
struct Geometry {
  int64_t batch, groups, in_channels, out_channels;
  std::array<int64_t, 3> in, out, kernel, padded, stride, padding, dilation;
  int64_t taps, length;      // of the kernel; of a patch
  int64_t plane, positions;  // elements of a padded channel; of an output channel
  bool unit_stride;
  std::vector<int64_t> offsets;  // of each element of a patch in the padded image
  std::vector<int64_t> starts;   // of each output's patch; rows of outputs only where the stride is 1

  Geometry(const View& wide, const View& weight, const View& narrow, const ConvOptions& options)
      : batch(wide.sizes[0]),
        groups(options.groups),
        in_channels(weight.sizes[1]),
        out_channels(weight.sizes[0] / options.groups),
        stride(options.stride),
        padding(options.padding),
        dilation(options.dilation) {
    taps = plane = positions = 1;
    for (size_t d = 0; d < 3; ++d) {
      in[d] = wide.sizes[2 + d], out[d] = narrow.sizes[2 + d], kernel[d] = weight.sizes[2 + d];
      padded[d] = in[d] + 2 * padding[d];
      taps *= kernel[d], plane *= padded[d], positions *= out[d];
    }
    length = in_channels * taps;
    unit_stride = stride[0] == 1 && stride[1] == 1 && stride[2] == 1;
    offsets.reserve(size_t(length));
    for (int64_t c = 0; c < in_channels; ++c) {
      for (int64_t i = 0; i < kernel[0]; ++i) {
        for (int64_t j = 0; j < kernel[1]; ++j) {
          for (int64_t k = 0; k < kernel[2]; ++k)
            offsets.push_back(c * plane + at(i * dilation[0], j * dilation[1], k * dilation[2]));
        }
      }
    }
    for (int64_t i = 0; i < out[0]; ++i) {
      for (int64_t j = 0; j < out[1]; ++j) starts.push_back(at(i * stride[0], j * stride[1], 0));
    }
  }

  int64_t at(int64_t i, int64_t j, int64_t k) const { return (i * padded[1] + j) * padded[2] + k; }
  // The flat length of one depth's outputs in rows as wide as the padded image's.
  int64_t flat() const { return (out[1] - 1) * padded[2] + out[2]; }
};

template <class T>
const T* row_of(const View& view, int64_t n, int64_t c, int64_t i, int64_t j) {
  return view.as<const T>() + n * view.strides[0] + c * view.strides[1] + i * view.strides[2] +
         j * view.strides[3];
}

template <class T>
void copy_row(const T* from, int64_t stride, T* to, int64_t n) {
  if (stride == 1) std::copy_n(from, n, to);
  else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
  }
}

// The channels of one group, padded with zeros; rows outside the image are zeros altogether.
template <class T>
void pad(const View& wide, const Geometry& g, int64_t n, int64_t first_channel, T* to) {
  for (int64_t c = 0; c < g.in_channels; ++c) {
    for (int64_t i = 0; i < g.padded[0]; ++i) {
      for (int64_t j = 0; j < g.padded[1]; ++j, to += g.padded[2]) {
        const int64_t y = i - g.padding[0], x = j - g.padding[1];
        if (y < 0 || y >= g.in[0] || x < 0 || x >= g.in[1]) {
          std::fill_n(to, g.padded[2], T(0));
          continue;
        }
        std::fill_n(to, g.padding[2], T(0));
        copy_row(row_of<T>(wide, n, first_channel + c, y, x), wide.strides[4], to + g.padding[2], g.in[2]);
        std::fill_n(to + g.padding[2] + g.in[2], g.padding[2], T(0));
      }
    }
  }
}

// The outputs [first, first + count) as runs within rows: f(row of outputs, column, run, place in the range).
template <class F>
void for_each_run(int64_t first, int64_t count, int64_t row_length, int64_t width, F&& f) {
  for (int64_t p = first; p < first + count;) {
    const int64_t row = p / row_length, column = p % row_length;
    const int64_t run = std::min(width - column, first + count - p);
    if (run > 0) f(row, column, run, p - first);
    p += std::min(row_length - column, first + count - p);
  }
}

template <class T>
class Forward {
 public:
  Forward(const View& wide, const View& weight, const View* bias, const View& narrow, const Geometry& g)
      : wide_(wide), bias_(bias), narrow_(narrow), g_(g) {
    const int64_t* s = weight.strides;
    for (int64_t group = 0; group < g.groups; ++group) {
      weights_.emplace_back(tiles_, g.out_channels, g.length, [&](int64_t row, int64_t i) {
        const int64_t tap = i % g.taps, k = tap % g.kernel[2], j = tap / g.kernel[2] % g.kernel[1];
        return weight.as<T>()[(group * g.out_channels + row) * s[0] + i / g.taps * s[1] +
                              tap / (g.kernel[1] * g.kernel[2]) * s[2] + j * s[3] + k * s[4]];
      });
    }
  }

  void run() const {
    parallel_for(0, g_.batch * g_.groups, 1, [&](int64_t begin, int64_t end) {
      const auto image = block_of<T>(g_.in_channels * g_.plane + tiles_.columns);
      std::fill_n(image.get() + g_.in_channels * g_.plane, tiles_.columns, T(0));
      for (int64_t t = begin; t < end; ++t) {
        const int64_t n = t / g_.groups, group = t % g_.groups;
        pad(wide_, g_, n, group * g_.in_channels, image.get());
        if (g_.unit_stride) shifted(image.get(), n, group);
        else gathered(image.get(), n, group);
      }
    });
  }

 private:
  // See Note [Convolution without unrolling].
  void shifted(const T* image, int64_t n, int64_t group) const {
    const int64_t blocks = (g_.flat() + tiles_.columns - 1) / tiles_.columns;
    parallel_for(0, g_.out[0] * blocks, 1, [&](int64_t begin, int64_t end) {
      const auto tile = block_of<T>(8 * tiles_.columns);
      for (int64_t b = begin; b < end; ++b) {
        const int64_t depth = b / blocks, first = b % blocks * tiles_.columns;
        const int64_t count = std::min(tiles_.columns, g_.flat() - first);
        weights_[size_t(group)].multiply(image + depth * g_.padded[1] * g_.padded[2] + first,
                                         g_.offsets.data(), tile.get(), [&](int64_t row, int rows) {
                                           for_each_run(first, count, g_.padded[2], g_.out[2],
                                                        [&](int64_t y, int64_t x, int64_t run, int64_t at) {
                                                          store(n, group, row, rows, depth, y, x, run,
                                                                tile.get() + at);
                                                        });
                                         });
      }
    });
  }

  void gathered(const T* image, int64_t n, int64_t group) const {
    std::vector<int64_t> offsets(size_t(g_.length));
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = int64_t(i) * tiles_.columns;
    const int64_t blocks = (g_.positions + tiles_.columns - 1) / tiles_.columns;
    parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
      const auto tile = block_of<T>(8 * tiles_.columns), patches = block_of<T>(g_.length * tiles_.columns);
      std::fill_n(patches.get(), g_.length * tiles_.columns, T(0));
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * tiles_.columns, count = std::min(tiles_.columns, g_.positions - first);
        for_each_run(first, count, g_.out[2], g_.out[2],
                     [&](int64_t row, int64_t x, int64_t run, int64_t at) {
                       const T* from = image + g_.starts[size_t(row)] + x * g_.stride[2];
                       for (size_t i = 0; i < offsets.size(); ++i)
                         copy_row(from + g_.offsets[i], g_.stride[2], patches.get() + offsets[i] + at, run);
                     });
        weights_[size_t(group)].multiply(
            patches.get(), offsets.data(), tile.get(), [&](int64_t row, int rows) {
              for_each_run(
                  first, count, g_.out[2], g_.out[2], [&](int64_t y, int64_t x, int64_t run, int64_t at) {
                    store(n, group, row, rows, y / g_.out[1], y % g_.out[1], x, run, tile.get() + at);
                  });
            });
      }
    });
  }

  void store(int64_t n, int64_t group, int64_t row, int rows, int64_t depth, int64_t y, int64_t x,
             int64_t run, const T* tile) const {
    for (int r = 0; r < rows; ++r, tile += tiles_.columns) {
      const int64_t channel = group * g_.out_channels + row + r;
      const int64_t* s = narrow_.strides;
      const T bias = bias_ ? bias_->as<T>()[channel * bias_->strides[0]] : T(0);
      T* to = narrow_.as<T>() + n * s[0] + channel * s[1] + depth * s[2] + y * s[3] + x * s[4];
      for (int64_t i = 0; i < run; ++i) to[i * s[4]] = tile[i] + bias;
    }
  }

  const ProductTiles<T>& tiles_ = product_tiles<T>();
  const View &wide_, *bias_, &narrow_;
  const Geometry& g_;
  std::vector<PackedRows<T>> weights_;
};

// The channels of one group, one after the other, with room behind them for a whole tile.
template <class T>
void flatten(const View& narrow, const Geometry& g, int64_t n, int64_t first_channel, T* to) {
  for (int64_t c = 0; c < g.out_channels; ++c) {
    for (int64_t i = 0; i < g.out[0]; ++i) {
      for (int64_t j = 0; j < g.out[1]; ++j, to += g.out[2])
        copy_row(row_of<T>(narrow, n, first_channel + c, i, j), narrow.strides[4], to, g.out[2]);
    }
  }
}

// Every element of a patch times every output, added up where the patches lie in the padded image.
template <class T>
void transposed(const View& narrow, const View& weight, const View* bias, const View& wide,
                const Geometry& g) {
  const ProductTiles<T>& tiles = product_tiles<T>();
  std::vector<int64_t> lines(static_cast<size_t>(g.out_channels));
  for (size_t i = 0; i < lines.size(); ++i) lines[i] = int64_t(i) * g.positions;
  parallel_for(0, g.batch * g.groups, 1, [&](int64_t begin, int64_t end) {
    const auto values = block_of<T>(g.out_channels * g.positions + tiles.columns);
    std::fill_n(values.get() + g.out_channels * g.positions, tiles.columns, T(0));
    const auto image = block_of<T>(g.in_channels * g.plane);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t n = t / g.groups, group = t % g.groups;
      flatten(narrow, g, n, group * g.out_channels, values.get());
      std::fill_n(image.get(), g.in_channels * g.plane, T(0));
      parallel_for(0, g.in_channels, 1, [&](int64_t first_channel, int64_t last_channel) {
        const int64_t first_row = first_channel * g.taps;
        const int64_t* s = weight.strides;
        const PackedRows<T> rows(
            tiles, (last_channel - first_channel) * g.taps, g.out_channels, [&](int64_t row, int64_t m) {
              const int64_t tap = (first_row + row) % g.taps, k = tap % g.kernel[2];
              return weight.as<T>()[(group * g.out_channels + m) * s[0] + (first_row + row) / g.taps * s[1] +
                                    tap / (g.kernel[1] * g.kernel[2]) * s[2] +
                                    tap / g.kernel[2] % g.kernel[1] * s[3] + k * s[4]];
            });
        const auto tile = block_of<T>(8 * tiles.columns);
        for (int64_t first = 0; first < g.positions; first += tiles.columns) {
          const int64_t count = std::min(tiles.columns, g.positions - first);
          rows.multiply(values.get() + first, lines.data(), tile.get(), [&](int64_t row, int number) {
            for_each_run(first, count, g.out[2], g.out[2],
                         [&](int64_t y, int64_t x, int64_t run, int64_t at) {
                           for (int r = 0; r < number; ++r) {
                             const T* from = tile.get() + r * tiles.columns + at;
                             T* to = image.get() + g.offsets[size_t(first_row + row + r)] +
                                     g.starts[size_t(y)] + x * g.stride[2];
                             if (g.stride[2] == 1) {
                               for (int64_t i = 0; i < run; ++i) to[i] += from[i];
                             } else {
                               for (int64_t i = 0; i < run; ++i) to[i * g.stride[2]] += from[i];
                             }
                           }
                         });
          });
        }
        for (int64_t c = first_channel; c < last_channel; ++c) {
          const int64_t channel = group * g.in_channels + c;
          const T shift = bias ? bias->as<T>()[channel * bias->strides[0]] : T(0);
          for (int64_t i = 0; i < g.in[0]; ++i) {
            for (int64_t j = 0; j < g.in[1]; ++j) {
              const T* from =
                  image.get() + c * g.plane + g.at(i + g.padding[0], j + g.padding[1], g.padding[2]);
              T* to = const_cast<T*>(row_of<T>(wide, n, channel, i, j));
              for (int64_t k = 0; k < g.in[2]; ++k) to[k * wide.strides[4]] = from[k] + shift;
            }
          }
        }
      });
    }
  });
}

// With a stride of 1 a transposed convolution is one with the kernel turned round, inputs and outputs exchanged, over what
// padding leaves of the kernel's reach. Calls f(turned weight, options) where that is so; returns whether it is.
template <class T, class F>
bool as_convolution(const View& weight, const Geometry& g, const F& f) {
  if (!g.unit_stride) return false;
  ConvOptions options{{1, 1, 1}, {}, g.dilation, g.groups};
  for (size_t d = 0; d < 3; ++d) {
    options.padding[d] = g.dilation[d] * (g.kernel[d] - 1) - g.padding[d];
    if (options.padding[d] < 0 ||
        g.in[d] != g.out[d] + 2 * options.padding[d] - g.dilation[d] * (g.kernel[d] - 1))
      return false;
  }
  const auto turned = block_of<T>(g.groups * g.in_channels * g.out_channels * g.taps);
  const int64_t* s = weight.strides;
  T* to = turned.get();
  for (int64_t group = 0; group < g.groups; ++group) {
    for (int64_t c = 0; c < g.in_channels; ++c) {
      for (int64_t m = 0; m < g.out_channels; ++m) {
        const T* from = weight.as<T>() + (group * g.out_channels + m) * s[0] + c * s[1];
        for (int64_t i = g.kernel[0] - 1; i >= 0; --i)
          for (int64_t j = g.kernel[1] - 1; j >= 0; --j)
            for (int64_t k = g.kernel[2] - 1; k >= 0; --k) *to++ = from[i * s[2] + j * s[3] + k * s[4]];
      }
    }
  }
  const int64_t sizes[] = {g.groups * g.in_channels, g.out_channels, g.kernel[0], g.kernel[1], g.kernel[2]};
  const int64_t strides[] = {g.out_channels * g.taps, g.taps, g.kernel[1] * g.kernel[2], g.kernel[2], 1};
  f(View{turned.get(), sizes, strides, 5, weight.dtype}, options);
  return true;
}

// a[0] b[0] + a[1] b[1] + …, in lanes that are added at the end.
template <class T>
struct Dot {
  [[gnu::always_inline]] static inline void run(const T* a, const T* b, int64_t n, T* sum) {
    constexpr int64_t lanes = 128 / int64_t(sizeof(T));
    T sums[lanes] = {};
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes)
      for (int64_t l = 0; l < lanes; ++l) sums[l] += a[i + l] * b[i + l];
    T total = T(0);
    for (; i < n; ++i) total += a[i] * b[i];
    for (int64_t l = 0; l < lanes; ++l) total += sums[l];
    *sum += total;
  }
};

// Sums of products of the image, shifted, and the outputs' gradient, [length, out_channels] per group.
template <class T>
class WeightGradient {
 public:
  WeightGradient(const View& wide, const View& narrow, const View& weight, const Geometry& g)
      : wide_(wide), narrow_(narrow), weight_(weight), g_(g) {
    few_ = std::is_floating_point_v<T> && 4 * g.out_channels <= tiles_.narrow;
    leading_ = few_ ? g.out_channels : (g.out_channels + tiles_.narrow - 1) / tiles_.narrow * tiles_.narrow;
    blocks_ = (g.length + kRows - 1) / kRows;
  }

  void run() {
    const int64_t size = g_.groups * blocks_ * kRows * leading_;
    // A sum per range of the batch, added in order afterwards: the result does not depend on timing.
    std::vector<std::unique_ptr<T[]>> parts(size_t(std::max<int64_t>(g_.batch, 1)));
    parallel_for(0, g_.batch, 1, [&](int64_t begin, int64_t end) {
      auto part = block_of<T>(size);
      std::fill_n(part.get(), size, T(0));
      const auto image = block_of<T>(g_.in_channels * g_.plane);
      for (int64_t n = begin; n < end; ++n) {
        for (int64_t group = 0; group < g_.groups; ++group) {
          pad(wide_, g_, n, group * g_.in_channels, image.get());
          T* sums = part.get() + group * blocks_ * kRows * leading_;
          if (g_.unit_stride) shifted(image.get(), n, group, sums);
          else gathered(image.get(), n, group, sums);
        }
      }
      parts[size_t(begin)] = std::move(part);
    });
    parallel_for(0, g_.groups * g_.out_channels,
                 std::max<int64_t>(1, kGrain / std::max<int64_t>(g_.length, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t channel = begin; channel < end; ++channel) write(parts, channel);
                 });
  }

 private:
  static constexpr int64_t kRows = ProductTiles<T>::kOuterRows;
  static constexpr int64_t kChunk = 128;  // outputs whose gradients stay in the first cache

  void shifted(const T* image, int64_t n, int64_t group, T* sums) const {
    const int64_t flat = g_.flat();
    const auto turned = block_of<T>(flat * leading_);
    for (int64_t depth = 0; depth < g_.out[0]; ++depth) {
      std::fill_n(turned.get(), flat * leading_, T(0));
      for (int64_t y = 0; y < g_.out[1]; ++y)
        turn(n, group, depth, y, 0, g_.out[2], y * g_.padded[2], flat, turned.get());
      accumulate(image + depth * g_.padded[1] * g_.padded[2], g_.offsets.data(), turned.get(), flat, sums);
    }
  }

  void gathered(const T* image, int64_t n, int64_t group, T* sums) const {
    const auto patches = block_of<T>(g_.length * kChunk), turned = block_of<T>(kChunk * leading_);
    std::vector<int64_t> offsets(size_t(g_.length));
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = int64_t(i) * kChunk;
    std::fill_n(turned.get(), kChunk * leading_, T(0));
    for (int64_t first = 0; first < g_.positions; first += kChunk) {
      const int64_t count = std::min(kChunk, g_.positions - first);
      for_each_run(first, count, g_.out[2], g_.out[2], [&](int64_t row, int64_t x, int64_t run, int64_t at) {
        const T* from = image + g_.starts[size_t(row)] + x * g_.stride[2];
        for (size_t i = 0; i < offsets.size(); ++i)
          copy_row(from + g_.offsets[i], g_.stride[2], patches.get() + offsets[i] + at, run);
        turn(n, group, row / g_.out[1], row % g_.out[1], x, run, at, count, turned.get());
      });
      accumulate(patches.get(), offsets.data(), turned.get(), count, sums);
    }
  }

  // One row of outputs, from place `at` of `count` on: with the channels side by side or, where there are few of them, one
  // after the other.
  void turn(int64_t n, int64_t group, int64_t depth, int64_t y, int64_t x, int64_t run, int64_t at,
            int64_t count, T* to) const {
    const int64_t step = narrow_.strides[4];
    for (int64_t c = 0; c < g_.out_channels; ++c) {
      const T* from = row_of<T>(narrow_, n, group * g_.out_channels + c, depth, y) + x * step;
      if (few_) copy_row(from, step, to + c * count + at, run);
      else
        for (int64_t i = 0; i < run; ++i) to[(at + i) * leading_ + c] = from[i * step];
    }
  }

  void accumulate(const T* image, const int64_t* offsets, const T* turned, int64_t count, T* sums) const {
    if (few_) {  // tiles would be nearly empty
      for (int64_t row = 0; row < g_.length; ++row)
        for (int64_t c = 0; c < g_.out_channels; ++c)
          at_level<Dot<T>>(image + offsets[row], turned + c * count, count, sums + row * leading_ + c);
      return;
    }
    parallel_for(0, blocks_, 8, [&](int64_t begin, int64_t end) {
      for (int64_t p = 0; p < count; p += kChunk) {
        const int64_t width = std::min(kChunk, count - p);
        for (int64_t b = begin; b < end; ++b) {
          int64_t rows[kRows];  // the last block repeats its last row
          for (int64_t r = 0; r < kRows; ++r) rows[r] = offsets[std::min(b * kRows + r, g_.length - 1)];
          const T* y = turned + p * leading_;
          T* c = sums + b * kRows * leading_;
          int64_t at = 0;
          for (; at + tiles_.wide <= leading_; at += tiles_.wide)
            tiles_.outer_wide(image + p, rows, y + at, width, c + at, leading_);
          for (; at < leading_; at += tiles_.narrow)
            tiles_.outer_narrow(image + p, rows, y + at, width, c + at, leading_);
        }
      }
    });
  }

  void write(const std::vector<std::unique_ptr<T[]>>& parts, int64_t channel) const {
    const int64_t* s = weight_.strides;
    const int64_t group = channel / g_.out_channels, c = channel % g_.out_channels;
    for (int64_t i = 0; i < g_.length; ++i) {
      T sum = T(0);
      for (const auto& part : parts) {
        if (part) sum += part[size_t((group * blocks_ * kRows + i) * leading_ + c)];
      }
      const int64_t tap = i % g_.taps;
      weight_.as<T>()[channel * s[0] + i / g_.taps * s[1] + tap / (g_.kernel[1] * g_.kernel[2]) * s[2] +
                      tap / g_.kernel[2] % g_.kernel[1] * s[3] + tap % g_.kernel[2] * s[4]] = sum;
    }
  }

  const ProductTiles<T>& tiles_ = product_tiles<T>();
  const View &wide_, &narrow_, &weight_;
  const Geometry& g_;
  bool few_;
  int64_t leading_, blocks_;
};

// Calls f with the views in a type that there are tiles for: half types convolve in float and are rounded once,
// integers in 64 bits.
template <class F>
void in_tile_type(const char* name, const View& a, const View& b, const View* bias, const View& out, F&& f) {
  dispatch<domains::numeric>(out.dtype, name, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = std::conditional_t<is_half_v<T>, float, std::conditional_t<std::is_integral_v<T>, uint64_t, T>>;
    if constexpr (is_half_v<T> || (std::is_integral_v<T> && sizeof(T) < sizeof(C))) {
      constexpr DType wider = is_half_v<T> ? DType::float32 : DType::int64;
      const Dense left(a, wider, Access::read), right(b, wider, Access::read),
          result(out, wider, Access::write);
      std::optional<Dense> shift;
      if (bias) shift.emplace(*bias, wider, Access::read);
      f(type_tag<C>{}, left.view(), right.view(), shift ? &shift->view() : nullptr, result.view());
      result.store();
    } else {
      f(type_tag<C>{}, a, b, bias, out);
    }
  });
}

// Calls f with the convolution as products of matrices, if it is one; returns whether it is.
template <class T, class F>
bool as_single_tap(const Geometry& g, const View& wide, const View& weight, const View& narrow, const F& f) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool pads = g.padding[0] || g.padding[1] || g.padding[2];
    if (g.taps != 1 || !g.unit_stride || pads || !Images<T>::step_of(wide) || !Images<T>::step_of(narrow))
      return false;
    if (!worth_packing(g.out_channels, g.positions, g.in_channels)) return false;
    f(SingleTap<T>{g.batch, g.groups, g.in_channels, g.out_channels, g.positions, Images<T>(wide),
                   Images<T>(narrow), weight.as<T>(), weight.strides[0], weight.strides[1]});
    return true;
  }
  return false;
}

}  // namespace

void convolve(const View& wide, const View& weight, const View* bias, const View& narrow,
              const ConvOptions& options) {
  if (narrow.numel() == 0) return;
  const Geometry g(wide, weight, narrow, options);
  in_tile_type("convolution", wide, weight, bias, narrow,
               [&](auto tag, const View& x, const View& w, const View* b, const View& y) {
                 using T = typename decltype(tag)::type;
                 if (!as_single_tap<T>(g, x, w, y, [&](const auto& product) { product.forward(b); }))
                   Forward<T>(x, w, b, y, g).run();
               });
}

void convolve_transposed(const View& narrow, const View& weight, const View* bias, const View& wide,
                         const ConvOptions& options) {
  if (wide.numel() == 0) return;
  const Geometry g(wide, weight, narrow, options);
  in_tile_type("convolution_backward_input", narrow, weight, bias, wide,
               [&](auto tag, const View& y, const View& w, const View* b, const View& x) {
                 using T = typename decltype(tag)::type;
                 if (as_single_tap<T>(g, x, w, y, [&](const auto& product) { product.transposed(b); }))
                   return;
                 if (!as_convolution<T>(w, g, [&](const View& turned, const ConvOptions& other) {
                       Forward<T>(y, turned, b, x, Geometry(y, turned, x, other)).run();
                     }))
                   transposed<T>(y, w, b, x, g);
               });
}

void convolve_weight(const View& wide, const View& narrow, const View& weight, const ConvOptions& options) {
  if (weight.numel() == 0) return;
  const Geometry g(wide, weight, narrow, options);
  in_tile_type("convolution_backward_weight", wide, narrow, nullptr, weight,
               [&](auto tag, const View& x, const View& y, const View*, const View& w) {
                 using T = typename decltype(tag)::type;
                 if (!as_single_tap<T>(g, x, w, y, [](const auto& product) { product.weight_gradient(); }))
                   WeightGradient<T>(x, y, w, g).run();
               });
}

}  // namespace mt::kernels
