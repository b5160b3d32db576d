// Convolutions as products over tiles of places.
//
// Note [Convolution without unrolling]
// With a stride of 1 the patches of an image that is padded with zeros are shifts of it: input k of the output at
// flat position p (rows as wide as the padded image's) lies at p + offset[k]. So the matrix product runs on the
// padded image itself; only the few columns that belong to no output are computed for nothing. With a stride of s the
// same is true of every s-th element: the padded image is taken apart into phases, the elements whose places leave the
// same rest when divided by s, and a tap has a phase and an offset in it. A transposed convolution is one with the
// kernel turned round, inputs and outputs exchanged; with a stride, one for each phase of what it makes.
//
// Note [Gathered columns]
// A padded image of a few places fills few of the columns that a tile has, and the ends of its rows are computed for
// nothing. There the columns of a tile are gathered from the lines of several images, which is worth while if enough rows
// of weights read them. Where pairs of bfloat16 are multiplied (Note [Pairs]) all columns are gathered: two channels lie
// together in the padded image, so that a pair is one word, and is copied like a float.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/squares.h"
#include "kernels/common/thread_buffer.h"
#include "kernels/common/types.h"
#include "kernels/conv/depthwise.h"
#include "kernels/conv/geometry.h"
#include "kernels/conv/shares.h"
#include "kernels/matmul/packed_rows.h"
#include "kernels/matmul/pair_rows.h"

namespace mt::kernels::convolution {

// One output channel: weights[0] x[offsets[0] + i] + weights[1] x[offsets[1] + i] + …, nine terms at a time, then five.
template <class T>
struct ShiftedSum {
  template <int kTerms>
  [[gnu::always_inline]] static inline T sum_of(const T* const* x, const T* weights, int64_t i) {
    constexpr int half = kTerms / 2;
    if constexpr (kTerms == 1) return weights[0] * x[0][i];
    else return sum_of<half>(x, weights, i) + sum_of<kTerms - half>(x + half, weights + half, i);
  }
  template <int kTerms>
  [[gnu::always_inline]] static inline void add(const T* image, const int64_t* offsets, const T* weights,
                                                int64_t n, bool first, T* to) {
    const T* x[kTerms];
    T own[kTerms];
    for (int k = 0; k < kTerms; ++k) x[k] = image + offsets[k], own[k] = weights[k];
    if (first) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] = sum_of<kTerms>(x, own, i);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] += sum_of<kTerms>(x, own, i);
    }
  }
  [[gnu::always_inline]] static inline void run(const T* image, const int64_t* offsets, const T* weights,
                                                int64_t taps, int64_t n, T* to) {
    int64_t k = 0;
    const auto take = [&](auto count) __attribute__((always_inline)) {
      constexpr int terms = decltype(count)::value;
      for (; k + terms <= taps; k += terms) add<terms>(image, offsets + k, weights + k, n, k == 0, to);
    };
    take(std::integral_constant<int, 9>{});  // a kernel of three by three
    take(std::integral_constant<int, 5>{});
    take(std::integral_constant<int, 1>{});
  }
};

// Places of a tile that follow one another in the result, too.
struct Run {
  int64_t at, length;
  int64_t to;  // from the result's first element of the image and group on
};

// The columns of a tile of sums for all channels, and what is added to each.
template <class T, class Sum>
struct PutRuns {
  [[gnu::always_inline]] static inline void run(const Sum* tiles, int64_t columns, int64_t channels,
                                                const Run* runs, int64_t count, T* result, int64_t channel,
                                                int64_t step, const T* bias, int64_t bias_step) {
    if constexpr (std::is_same_v<T, Sum>)
      if (channel == 1 && step != 1)
        return side_by_side(tiles, columns, channels, runs, count, result, step, bias, bias_step);
    for (int64_t c = 0; c < channels; ++c, tiles += columns) {
      const Sum shift = bias ? Sum(bias[c * bias_step]) : Sum(0);
      for (int64_t r = 0; r < count; ++r) {
        const Sum* from = tiles + runs[r].at;
        T* to = result + runs[r].to + c * channel;
        const int64_t length = runs[r].length;
        if (step == 1) {
#pragma GCC ivdep
          for (int64_t i = 0; i < length; ++i) to[i] = T(from[i] + shift);
        } else {
          for (int64_t i = 0; i < length; ++i) to[i * step] = T(from[i] + shift);
        }
      }
    }
  }

 private:
  // The result's channels lie together.
  [[gnu::always_inline]] static inline void side_by_side(const T* tiles, int64_t columns, int64_t channels,
                                                         const Run* runs, int64_t count, T* result,
                                                         int64_t step, const T* bias, int64_t bias_step) {
    for (int64_t r = 0; r < count; ++r) {
      T* to = result + runs[r].to;
      turn_rectangle(tiles + runs[r].at, columns, to, step, runs[r].length, channels);
      if (!bias) continue;
      for (int64_t i = 0; i < runs[r].length; ++i, to += step)
#pragma GCC ivdep
        for (int64_t c = 0; c < channels; ++c) to[c] += bias[c * bias_step];
    }
  }
};

// Rows of a panel, in pieces of one size: what is too much of a piece the next one overwrites, or the next row.
template <class T>
struct Gather {
  static constexpr int64_t kSize = 64 / int64_t(sizeof(T));
  static constexpr int kMost = 8;
  struct Piece {
    const T* from;
    int64_t at;
  };
  template <int kCount>
  [[gnu::always_inline]] static inline void rows(const int64_t* offsets, int64_t rows, const Piece* pieces,
                                                 T* panel, int64_t leading) {
    Piece own[kCount];
    for (int p = 0; p < kCount; ++p) own[p] = pieces[p];
    for (int64_t i = 0; i < rows; ++i, panel += leading) {
#pragma GCC unroll 8
      for (int p = 0; p < kCount; ++p)
        std::memcpy(panel + own[p].at, own[p].from + offsets[i], kSize * sizeof(T));
    }
  }
  template <int kCount = kMost>
  [[gnu::always_inline]] static inline void run(const int64_t* offsets, int64_t count, const Piece* pieces,
                                                int64_t each, T* panel, int64_t leading) {
    if (each == kCount) return rows<kCount>(offsets, count, pieces, panel, leading);
    if constexpr (kCount > 1) return run<kCount - 1>(offsets, count, pieces, each, panel, leading);
    for (int64_t i = 0; i < count; ++i, panel += leading)
      for (int64_t p = 0; p < each; ++p)
        std::memcpy(panel + pieces[p].at, pieces[p].from + offsets[i], kSize * sizeof(T));
  }
};

// T is what is convolved, and `Rows` a product: PackedRows<T>, or PairRows for BFloat16.
template <class T, class Rows>
class Forward {
 public:
  using Element = typename Rows::Element;  // of a padded image and of the packed weights
  using Sum = typename Rows::Sum;
  using Tiles = typename Rows::Tiles;

  // pack(group, channel, count, to) puts the weights of channels [channel, channel + count) there in the order that Rows
  // wants them in.
  template <class F>
  Forward(const Tiles& tiles, const View& wide, const View* bias, const View& narrow, const Geometry& g,
          const F& pack)
      : tiles_(tiles), wide_(wide), bias_(bias), narrow_(narrow), g_(g) {
    choose_images();
    if constexpr (!kPaired)
      for (int64_t i = 0; i < Rows::kTogether; ++i) even_.push_back(i * columns_);
    const int64_t size = Rows::size(g.out_channels, g.length);
    Element* packed = ConvolutionBuffers::shared->template room<Element>(g.groups * size);
    single_weights_ = packed;
    for (int64_t group = 0; group < g.groups; ++group) {
      if (single()) pack(group, 0, 1, packed + group * size);
      else
        weights_.emplace_back(
            tiles_, g.out_channels, g.length, packed + group * size,
            [&](int64_t channel, int64_t count, Element* to) { pack(group, channel, count, to); });
    }
    if (!gathers_) list_runs();
  }

  void run() const {
    const int64_t packs = (g_.batch + images_ - 1) / images_, size = g_.stacks * g_.channel;
    const Shares shares(packs * g_.groups,
                        gathers_ ? blocks(images_ * g_.positions) : g_.out[0] * blocks(g_.flat()), 1);
    parallel_for(0, shares.count(), 1, [&](int64_t begin, int64_t end) {
      const int64_t beyond = std::max(columns_, kSize);  // is read of the last image
      const int64_t sizes[] = {round_up(images_ * size + beyond), round_up(together() * rows() * span()),
                               gathers_ ? weights_[0].panels() * panel_size() + kSize : 0};
      Element* images = ConvolutionBuffers::own->template room<Element>(
          std::accumulate(std::begin(sizes), std::end(sizes), int64_t(0)));
      Sum* tiles = reinterpret_cast<Sum*>(images + sizes[0]);
      Element* panel = images + sizes[0] + sizes[1];
      std::fill_n(images, images_ * size + beyond, Element());
      std::fill_n(panel, sizes[2], Element());
      for (int64_t share = begin; share < end; ++share) {
        const auto [first, last] = shares.parts_of(share);
        for (int64_t t = shares.first_of(share); t < shares.first_of(share + shares.pieces); ++t) {
          const int64_t n = t / g_.groups * images_, group = t % g_.groups;
          const int64_t count = std::min(images_, g_.batch - n);
          for (int64_t i = 0; i < count; ++i)
            pad<T>(wide_, g_, n + i, group * g_.in_channels, images + i * size);
          if (gathers_) gather(images, n, count, group, first, last, panel, tiles);
          else if constexpr (!kPaired) shift(images, n, group, first, last, tiles);
        }
      }
    });
  }

 private:
  using Pieces = Gather<Element>;
  static constexpr bool kPaired = !std::is_same_v<T, Element>;
  static constexpr int64_t kSpan = 1024, kSize = Pieces::kSize;
  static_assert(sizeof(Element) == sizeof(Sum));

  // To whole lines of a cache.
  static int64_t round_up(int64_t n) { return (n + kSize - 1) / kSize * kSize; }
  int64_t panel_size() const { return weights_[0].panel_rows() * columns_; }
  // A tile of one row would wait for each product: groups of one output are summed up along memory.
  bool single() const { return std::is_floating_point_v<T> && g_.out_channels == 1; }
  int64_t span() const { return single() ? kSpan : columns_; }
  int64_t blocks(int64_t places) const { return (places + span() - 1) / span(); }
  int64_t together() const { return single() ? 1 : weights_[0].worth_together(); }  // blocks
  int64_t rows() const { return single() ? 1 : weights_[0].rows(); }

  // See Note [Gathered columns].
  void choose_images() {
    constexpr int64_t kMost = 8, kBytes = int64_t(1) << 20;
    const int64_t image = g_.stacks * g_.channel * int64_t(sizeof(Element));
    const int64_t most = std::clamp<int64_t>(
        std::min(kBytes / std::max<int64_t>(1, image), g_.batch / get_num_threads()), 1, kMost);
    const auto computed = [&](int64_t images) {
      return double(blocks(images * g_.positions) * columns_) / double(images);
    };
    int64_t best = 1;
    for (int64_t images = 2; images <= most; ++images)
      if (computed(images) < 0.98 * computed(best)) best = images;
    const double shifted = double(g_.out[0] * blocks(g_.flat()) * columns_ * g_.out_channels);
    gathers_ = kPaired || (!single() && computed(best) * double(g_.out_channels + kGatherRows) < shifted);
    if (gathers_) images_ = best;
  }
  static constexpr int64_t kGatherRows = 8;  // a place costs as much as so many rows of a product

  // See Note [Convolution without unrolling].
  void shift(const T* image, int64_t n, int64_t group, int64_t begin, int64_t end, T* tiles) const {
    const int64_t across = blocks(g_.flat());
    for (int64_t next; begin < end; begin = next) {
      next = std::min(end, begin + together());
      const auto from = [&](int64_t t) {
        return image + (begin + t) / across * g_.padded[1] * g_.padded[2] + (begin + t) % across * span();
      };
      if (single()) {
        if constexpr (std::is_floating_point_v<T>)
          at_level<ShiftedSum<T>>(from(0), g_.offsets.data(), single_weights_ + group * g_.length, g_.length,
                                  std::min(span(), g_.flat() - begin % across * span()), tiles);
      } else {
        weights_[size_t(group)].multiply(
            next - begin,
            [&](int64_t t, int64_t row, int64_t) {
              return typename Rows::Columns{from(t), g_.offsets.data() + row};
            },
            tiles);
      }
      for (int64_t b = begin; b < next; ++b)
        put(runs_[size_t(b)], n, group, tiles + (b - begin) * g_.out_channels * span());
    }
  }
  // Of all blocks: the same for every image.
  void list_runs() {
    const int64_t across = blocks(g_.flat());
    runs_.resize(size_t(g_.out[0] * across));
    for (int64_t b = 0; b < g_.out[0] * across; ++b) {
      const int64_t first = b % across * span(), last = std::min(g_.flat(), first + span());
      for (int64_t p = first; p < last;) {
        const int64_t y = p / g_.padded[2], x = p % g_.padded[2];
        const int64_t line = std::min(g_.padded[2] - x, last - p);
        if (x < g_.out[2])
          add(runs_[size_t(b)], p - first, std::min(g_.out[2] - x, line), 0, b / across, y, x);
        p += line;
      }
    }
  }

  // See Note [Gathered columns].
  void gather(const Element* images, int64_t n, int64_t count, int64_t group, int64_t begin, int64_t end,
              Element* panels, Sum* tiles) const {
    const int64_t places = count * g_.positions, size = g_.stacks * g_.channel;
    const auto most = size_t(together());
    std::vector<std::vector<typename Pieces::Piece>> pieces(most);
    std::vector<std::vector<Run>> runs(most);
    end = std::min(end, blocks(places));
    for (int64_t next; begin < end; begin = next) {
      next = std::min(end, begin + together());
      for (int64_t b = begin; b < next; ++b) {
        auto& from = pieces[size_t(b - begin)];
        auto& to = runs[size_t(b - begin)];
        from.clear(), to.clear();
        const int64_t first = b * span(), last = std::min(places, first + span());
        for (int64_t p = first; p < last;) {
          const int64_t line = p / g_.out[2], x = p % g_.out[2], run = std::min(g_.out[2] - x, last - p);
          const int64_t y = line % g_.out[1], depth = line / g_.out[1] % g_.out[0], image = p / g_.positions;
          const Element* start = images + image * size + (depth * g_.padded[1] + y) * g_.padded[2] + x;
          for (int64_t k = 0; k < run; k += kSize) from.push_back({start + k, p - first + k});
          add(to, p - first, run, image, depth, y, x);
          p += run;
        }
      }
      weights_[size_t(group)].multiply(
          next - begin,
          [&](int64_t t, int64_t row, int64_t rows) {
            const auto& from = pieces[size_t(t)];
            Element* panel = panels + t % weights_[0].panels() * panel_size();
            at_level<Pieces>(g_.offsets.data() + row, rows, from.data(), int64_t(from.size()), panel,
                             columns_);
            if constexpr (kPaired) return weights_[0].fill_up(panel);
            else return typename Rows::Columns{panel, even_.data()};
          },
          tiles);
      for (int64_t b = begin; b < next; ++b)
        put(runs[size_t(b - begin)], n, group, tiles + (b - begin) * rows() * columns_);
    }
  }

  // Lines that follow one another in tile and result are one run.
  void add(std::vector<Run>& runs, int64_t at, int64_t length, int64_t image, int64_t depth, int64_t y,
           int64_t x) const {
    const int64_t* s = narrow_.strides;
    const int64_t to = image * s[0] + depth * s[2] + y * s[3] + x * s[4];
    if (!runs.empty()) {
      Run& before = runs.back();
      if (before.at + before.length == at && before.to + before.length * s[4] == to) {
        before.length += length;
        return;
      }
    }
    runs.push_back({at, length, to});
  }
  void put(const std::vector<Run>& runs, int64_t n, int64_t group, const Sum* tiles) const {
    const int64_t* s = narrow_.strides;
    const int64_t step = bias_ ? bias_->strides[0] : 0;
    const T* bias = bias_ ? bias_->as<const T>() + group * g_.out_channels * step : nullptr;
    at_level<PutRuns<T, Sum>>(tiles, span(), g_.out_channels, runs.data(), int64_t(runs.size()),
                              narrow_.as<T>() + n * s[0] + group * g_.out_channels * s[1], s[1], s[4], bias,
                              step);
  }

  const Tiles& tiles_;
  const int64_t columns_ = Rows::columns(tiles_);
  const View &wide_, *bias_, &narrow_;
  const Geometry& g_;
  bool gathers_ = false;
  int64_t images_ = 1;
  std::vector<int64_t> even_;           // the rows of a panel
  const Element* single_weights_;       // of groups of one output, which have no rows
  std::vector<Rows> weights_;           // of the others, for each group
  std::vector<std::vector<Run>> runs_;  // of each block, if none are gathered
};

// Pairs of channels for a row of weights, [stacks, taps]; the taps of a channel are at `places`. Where these follow one
// another, eight are paired at a time: what is too much is read of channels behind, and overwritten by theirs.
inline void pack_pairs(const BFloat16* from, int64_t channel_step, const std::vector<int64_t>& places,
                       int64_t channels, uint32_t* to) {
  typedef uint16_t V __attribute__((vector_size(16)));
  constexpr int64_t kEight = 8, kFewest = 4;
  const int64_t taps = int64_t(places.size());
  const auto apart = [](int64_t a, int64_t b) { return b != a + 1; };
  const bool dense = std::adjacent_find(places.begin(), places.end(), apart) == places.end();
  if (dense && taps == 1 && channel_step == 1 && channels % 2 == 0) {
    std::memcpy(to, from + places[0], size_t(channels) * sizeof(BFloat16));
    return;
  }
  for (int64_t c = 0; c < channels; c += 2, from += 2 * channel_step, to += taps) {
    if (dense && taps >= kFewest && channel_step >= taps && c + 3 < channels) {
      const BFloat16* first = from + places[0];
      for (int64_t t = 0; t < taps; t += kEight) {
        V a, b;
        std::memcpy(&a, first + t, sizeof(a));
        std::memcpy(&b, first + channel_step + t, sizeof(b));
        const V low = __builtin_shuffle(a, b, V{0, 8, 1, 9, 2, 10, 3, 11}),
                high = __builtin_shuffle(a, b, V{4, 12, 5, 13, 6, 14, 7, 15});
        std::memcpy(to + t, &low, sizeof(low));
        std::memcpy(to + t + kEight / 2, &high, sizeof(high));
      }
    } else if (c + 1 < channels) {
      for (int64_t t = 0; t < taps; ++t) {
        const BFloat16* first = from + places[size_t(t)];
        to[t] = pair_of(*first, first[channel_step]);
      }
    } else {
      for (int64_t t = 0; t < taps; ++t) to[t] = pair_of(from[places[size_t(t)]], BFloat16());
    }
  }
}

// The packed weights' taps are in the other order if they are turned round, which g knows.
template <class T, class Rows, class F>
void convolve_by(const typename Rows::Tiles& tiles, const View& wide, const View* bias, const View& narrow,
                 const Geometry& g, bool turned_round, const F& pack) {
  if constexpr (std::is_same_v<T, typename Rows::Element> && std::is_floating_point_v<T>)
    if (Depthwise<T>::applies(wide, narrow, g))
      return Depthwise<T>(wide, bias, narrow, g, turned_round, pack).run();
  Forward<T, Rows>(tiles, wide, bias, narrow, g, pack).run();
}

template <class T, class Rows = PackedRows<T>>
void forward(const typename Rows::Tiles& tiles, const View& wide, const View& weight, const View* bias,
             const View& narrow, const Geometry& g) {
  const Dense dense(weight, weight.dtype, Access::read);
  const T* rows = dense.view().template as<const T>();
  const int64_t row = g.in_channels * g.taps;
  std::vector<int64_t> places(size_t(g.taps));
  std::iota(places.begin(), places.end(), int64_t(0));
  const auto pack = [&](int64_t group, int64_t channel, int64_t count, typename Rows::Element* to) {
    const T* from = rows + (group * g.out_channels + channel) * row;
    if constexpr (Rows::kStack == 2) pack_pairs(from, g.taps, places, g.in_channels, to);
    else turn_rectangle(from, row, to, count, row, count);
  };
  convolve_by<T, Rows>(tiles, wide, bias, narrow, g, false, pack);
}

// One phase of what a transposed convolution makes, along one dimension: the places `first`, `first` + stride, …, and the
// taps that meet there, `tap`, `tap` + `tap_step`, … of the kernel.
struct Phase {
  int64_t first, count, tap, taps, tap_step, dilation, padding;
};
inline std::vector<Phase> phases_of(const Geometry& g, size_t d) {
  const int64_t stride = g.stride[d], dilation = g.dilation[d], padding = g.padding[d];
  std::vector<Phase> phases;
  for (int64_t rest = 0; rest < stride; ++rest) {
    Phase p{};
    const int64_t before =
        std::max<int64_t>(0, (padding - rest + stride - 1) / stride);  // places in the padding
    p.first = before * stride + rest - padding;
    p.count = p.first < g.in[d] ? (g.in[d] - p.first + stride - 1) / stride : 0;
    p.tap_step = stride / std::gcd(stride, dilation);
    p.dilation = dilation * p.tap_step / stride;
    while (p.tap < std::min(p.tap_step, g.kernel[d]) && p.tap * dilation % stride != rest) ++p.tap;
    if (p.tap < std::min(p.tap_step, g.kernel[d]))
      p.taps = (g.kernel[d] - p.tap + p.tap_step - 1) / p.tap_step;
    p.padding = p.dilation * (p.taps - 1) - before + p.tap * dilation / stride;
    if (p.count > 0) phases.push_back(p);
  }
  return phases;
}

// See Note [Convolution without unrolling].
template <class T, class Rows = PackedRows<T>>
void transposed(const typename Rows::Tiles& tiles, const View& narrow, const View& weight, const View* bias,
                const View& wide, const Geometry& g) {
  const auto one = [&](const std::array<Phase, 3>& phases) {
    T* data = wide.as<T>();
    int64_t sizes[5] = {wide.sizes[0], wide.sizes[1]}, strides[5] = {wide.strides[0], wide.strides[1]},
            taps = 1;
    for (size_t d = 0; d < 3; ++d) {
      data += phases[d].first * wide.strides[2 + d];
      sizes[2 + d] = phases[d].count, strides[2 + d] = g.stride[d] * wide.strides[2 + d];
      taps *= phases[d].taps;
    }
    if (taps == 0) {  // nothing but the bias
      for (int64_t n = 0; n < sizes[0]; ++n)
        for (int64_t c = 0; c < sizes[1]; ++c)
          for (int64_t i = 0; i < sizes[2]; ++i)
            for (int64_t j = 0; j < sizes[3]; ++j)
              for (int64_t k = 0; k < sizes[4]; ++k)
                data[n * strides[0] + c * strides[1] + i * strides[2] + j * strides[3] + k * strides[4]] =
                    bias ? bias->as<T>()[c * bias->strides[0]] : T(0);
      return;
    }
    const auto& [depth, line, column] = phases;
    const int64_t* s = weight.strides;
    std::vector<int64_t> places;  // of the taps
    for (int64_t i = 0; i < depth.taps; ++i)
      for (int64_t j = 0; j < line.taps; ++j)
        for (int64_t k = 0; k < column.taps; ++k)
          places.push_back((depth.tap + i * depth.tap_step) * s[2] + (line.tap + j * line.tap_step) * s[3] +
                           (column.tap + k * column.tap_step) * s[4]);
    const auto pack = [&](int64_t group, int64_t channel, int64_t count, typename Rows::Element* to) {
      const T* from = weight.as<T>() + group * g.out_channels * s[0] + channel * s[1];
      if constexpr (Rows::kStack == 2) {
        pack_pairs(from, s[0], places, g.out_channels, to);
      } else {
        for (int64_t m = 0; m < g.out_channels; ++m)
          for (const int64_t place : places)
            for (int64_t c = 0; c < count; ++c) *to++ = from[m * s[0] + c * s[1] + place];
      }
    };
    const int64_t kernel[] = {g.groups * g.in_channels, g.out_channels, depth.taps, line.taps, column.taps};
    const View part{data, sizes, strides, 5, wide.dtype};
    const View turned{nullptr, kernel, nullptr, 5, weight.dtype};  // its sizes
    const ConvOptions options{{1, 1, 1},
                              {depth.padding, line.padding, column.padding},
                              {depth.dilation, line.dilation, column.dilation},
                              g.groups};
    Geometry turned_round(narrow, turned, part, options, Rows::kStack);
    turned_round.turn_round();
    convolve_by<T, Rows>(tiles, narrow, bias, part, turned_round, true, pack);
  };
  const std::vector<Phase> depths = phases_of(g, 0), lines = phases_of(g, 1), columns = phases_of(g, 2);
  for (const Phase& depth : depths)
    for (const Phase& line : lines)
      for (const Phase& column : columns) one({depth, line, column});
}

}  // namespace mt::kernels::convolution
