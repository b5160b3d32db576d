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
// of weights read them.
#include "kernels/conv/conv.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/common/copy.h"
#include "kernels/common/dense.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/squares.h"
#include "kernels/common/thread_buffer.h"
#include "kernels/common/types.h"
#include "kernels/conv/geometry.h"
#include "kernels/conv/single_tap.h"
#include "kernels/conv/unrolled.h"
#include "kernels/matmul/packed_rows.h"

namespace mt::kernels {
namespace {

// Images shared out among threads; where there are fewer images than threads, several take parts of one. What the parts of
// an image need of it each prepares for itself.
struct Shares {
  int64_t images, parts, ranges, pieces;
  // At least `least` parts are worth a thread.
  Shares(int64_t images, int64_t parts, int64_t least) : images(images), parts(parts) {
    const int64_t threads = in_parallel_region() ? 1 : get_num_threads();
    ranges = std::clamp<int64_t>(images, 1, threads);
    pieces = std::clamp<int64_t>(threads / ranges, 1, std::max<int64_t>(1, parts / least));
  }

  int64_t count() const { return images == 0 ? 0 : ranges * pieces; }
  int64_t first_of(int64_t share) const { return share / pieces * images / ranges; }
  std::pair<int64_t, int64_t> parts_of(int64_t share) const {
    const int64_t piece = share % pieces;
    return {piece * parts / pieces, (piece + 1) * parts / pieces};
  }
};

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
template <class T>
struct Run {
  int64_t at, length;
  T* to;  // of the first channel
};

// The columns of a tile for all channels, and what is added to each.
template <class T>
struct PutRuns {
  [[gnu::always_inline]] static inline void run(const T* tiles, int64_t columns, int64_t channels,
                                                const Run<T>* runs, int64_t count, int64_t channel,
                                                int64_t step, const T* bias, int64_t bias_step) {
    for (int64_t c = 0; c < channels; ++c, tiles += columns) {
      const T shift = bias ? bias[c * bias_step] : T(0);
      for (int64_t r = 0; r < count; ++r) {
        const T* from = tiles + runs[r].at;
        T* to = runs[r].to + c * channel;
        const int64_t length = runs[r].length;
        if (step == 1) {
#pragma GCC ivdep
          for (int64_t i = 0; i < length; ++i) to[i] = from[i] + shift;
        } else {
          for (int64_t i = 0; i < length; ++i) to[i * step] = from[i] + shift;
        }
      }
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

// The packed weights, which all threads read, and what a thread prepares for itself.
constinit PerThread<ThreadBuffer> shared_buffer, own_buffer;

template <class T>
class Forward {
 public:
  // pack(group, channel, count, to) puts weights of channels [channel, channel + count) there as [length, count].
  template <class F>
  Forward(const View& wide, const View* bias, const View& narrow, const Geometry& g, const F& pack)
      : wide_(wide), bias_(bias), narrow_(narrow), g_(g) {
    choose_images();
    for (int64_t i = 0; i < kPart; ++i) even_.push_back(i * tiles_.columns);
    const int64_t size = g.out_channels * g.length;
    T* packed = shared_buffer->room<T>(g.groups * size);
    for (int64_t group = 0; group < g.groups; ++group)
      weights_.emplace_back(tiles_, g.out_channels, g.length, packed + group * size,
                            [&](int64_t channel, int64_t count, T* to) { pack(group, channel, count, to); });
  }

  void run() const {
    const int64_t packs = (g_.batch + images_ - 1) / images_, size = g_.in_channels * g_.channel;
    const Shares shares(packs * g_.groups,
                        gathers_ ? blocks(images_ * g_.positions) : g_.out[0] * blocks(g_.flat()), 1);
    parallel_for(0, shares.count(), 1, [&](int64_t begin, int64_t end) {
      const int64_t beyond = std::max(tiles_.columns, Gather<T>::kSize);  // is read of the last image
      const int64_t sizes[] = {images_ * size + beyond, together() * g_.out_channels * span(),
                               gathers_ ? kPart * tiles_.columns + Gather<T>::kSize : 0};
      T* images = own_buffer->room<T>(round_up(sizes[0]) + round_up(sizes[1]) + sizes[2]);
      T *tiles = images + round_up(sizes[0]), *panel = tiles + round_up(sizes[1]);
      std::fill_n(images + images_ * size, beyond, T(0));
      std::fill_n(panel, sizes[2], T(0));
      for (int64_t share = begin; share < end; ++share) {
        const auto [first, last] = shares.parts_of(share);
        for (int64_t t = shares.first_of(share); t < shares.first_of(share + shares.pieces); ++t) {
          const int64_t n = t / g_.groups * images_, group = t % g_.groups;
          const int64_t count = std::min(images_, g_.batch - n);
          for (int64_t i = 0; i < count; ++i)
            pad(wide_, g_, n + i, group * g_.in_channels, images + i * size);
          if (gathers_) gather(images, n, count, group, first, last, panel, tiles);
          else shift(images, n, group, first, last, tiles);
        }
      }
    });
  }

 private:
  static constexpr int64_t kSpan = 1024, kPart = PackedRows<T>::kTogether;

  // To whole lines of a cache.
  static int64_t round_up(int64_t n) {
    return (n + Gather<T>::kSize - 1) / Gather<T>::kSize * Gather<T>::kSize;
  }
  // A tile of one row would wait for each product: groups of one output are summed up along memory.
  bool single() const { return std::is_floating_point_v<T> && g_.out_channels == 1; }
  int64_t span() const { return single() ? kSpan : tiles_.columns; }
  int64_t blocks(int64_t places) const { return (places + span() - 1) / span(); }
  int64_t together() const { return single() ? 1 : weights_[0].worth_together(); }  // blocks

  // See Note [Gathered columns].
  void choose_images() {
    constexpr int64_t kMost = 8, kBytes = int64_t(1) << 20;
    const int64_t image = g_.in_channels * g_.channel * int64_t(sizeof(T)), columns = tiles_.columns;
    const int64_t most = std::clamp<int64_t>(
        std::min(kBytes / std::max<int64_t>(1, image), g_.batch / get_num_threads()), 1, kMost);
    const auto computed = [&](int64_t images) {
      return double(blocks(images * g_.positions) * columns) / double(images);
    };
    int64_t best = 1;
    for (int64_t images = 2; images <= most; ++images)
      if (computed(images) < 0.98 * computed(best)) best = images;
    const double shifted = double(g_.out[0] * blocks(g_.flat()) * columns * g_.out_channels);
    gathers_ = !single() && computed(best) * double(g_.out_channels + kGatherRows) < shifted;
    if (gathers_) images_ = best;
  }
  static constexpr int64_t kGatherRows = 8;  // a place costs as much as so many rows of a product

  // See Note [Convolution without unrolling].
  void shift(const T* image, int64_t n, int64_t group, int64_t begin, int64_t end, T* tiles) const {
    const int64_t across = blocks(g_.flat());
    std::vector<Run<T>> runs;
    for (int64_t next; begin < end; begin = next) {
      next = std::min(end, begin + together());
      const auto from = [&](int64_t t) {
        return image + (begin + t) / across * g_.padded[1] * g_.padded[2] + (begin + t) % across * span();
      };
      if (single()) {
        if constexpr (std::is_floating_point_v<T>)
          at_level<ShiftedSum<T>>(from(0), g_.offsets.data(), weights_[size_t(group)].data(), g_.length,
                                  std::min(span(), g_.flat() - begin % across * span()), tiles);
      } else {
        weights_[size_t(group)].multiply(
            next - begin,
            [&](int64_t t, int64_t row, int64_t) { return Columns{from(t), g_.offsets.data() + row}; },
            tiles);
      }
      for (int64_t b = begin; b < next; ++b) {
        const int64_t first = b % across * span(), last = std::min(g_.flat(), first + span());
        runs.clear();
        for (int64_t p = first; p < last;) {
          const int64_t y = p / g_.padded[2], x = p % g_.padded[2];
          const int64_t line = std::min(g_.padded[2] - x, last - p);
          if (x < g_.out[2]) add(runs, p - first, std::min(g_.out[2] - x, line), n, group, b / across, y, x);
          p += line;
        }
        put(runs, group, tiles + (b - begin) * g_.out_channels * span());
      }
    }
  }

  // See Note [Gathered columns].
  void gather(const T* images, int64_t n, int64_t count, int64_t group, int64_t begin, int64_t end, T* panel,
              T* tiles) const {
    const int64_t places = count * g_.positions, size = g_.in_channels * g_.channel;
    const auto most = size_t(together());
    std::vector<std::vector<typename Gather<T>::Piece>> pieces(most);
    std::vector<std::vector<Run<T>>> runs(most);
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
          const T* start = images + image * size + (depth * g_.padded[1] + y) * g_.padded[2] + x;
          for (int64_t k = 0; k < run; k += Gather<T>::kSize) from.push_back({start + k, p - first + k});
          add(to, p - first, run, n + image, group, depth, y, x);
          p += run;
        }
      }
      weights_[size_t(group)].multiply(
          next - begin,
          [&](int64_t t, int64_t row, int64_t rows) {
            const auto& from = pieces[size_t(t)];
            at_level<Gather<T>>(g_.offsets.data() + row, rows, from.data(), int64_t(from.size()), panel,
                                tiles_.columns);
            return Columns{panel, even_.data()};
          },
          tiles);
      for (int64_t b = begin; b < next; ++b)
        put(runs[size_t(b - begin)], group, tiles + (b - begin) * g_.out_channels * span());
    }
  }

  // Lines that follow one another in tile and result are one run.
  void add(std::vector<Run<T>>& runs, int64_t at, int64_t length, int64_t n, int64_t group, int64_t depth,
           int64_t y, int64_t x) const {
    const int64_t* s = narrow_.strides;
    T* to = narrow_.as<T>() + n * s[0] + group * g_.out_channels * s[1] + depth * s[2] + y * s[3] + x * s[4];
    if (!runs.empty()) {
      Run<T>& before = runs.back();
      if (before.at + before.length == at && before.to + before.length * s[4] == to) {
        before.length += length;
        return;
      }
    }
    runs.push_back({at, length, to});
  }
  void put(const std::vector<Run<T>>& runs, int64_t group, const T* tiles) const {
    const int64_t step = bias_ ? bias_->strides[0] : 0;
    const T* bias = bias_ ? bias_->as<const T>() + group * g_.out_channels * step : nullptr;
    at_level<PutRuns<T>>(tiles, span(), g_.out_channels, runs.data(), int64_t(runs.size()),
                         narrow_.strides[1], narrow_.strides[4], bias, step);
  }

  using Columns = typename PackedRows<T>::Columns;
  const ProductTiles<T>& tiles_ = product_tiles<T>();
  const View &wide_, *bias_, &narrow_;
  const Geometry& g_;
  bool gathers_ = false;
  int64_t images_ = 1;         // images
  std::vector<int64_t> even_;  // the rows of a panel
  std::vector<PackedRows<T>> weights_;
};

template <class T>
void forward(const View& wide, const View& weight, const View* bias, const View& narrow, const Geometry& g) {
  const Dense dense(weight, weight.dtype, Access::read);
  const T* rows = dense.view().template as<const T>();
  const auto pack = [&](int64_t group, int64_t channel, int64_t count, T* to) {
    turn_rectangle(rows + (group * g.out_channels + channel) * g.length, g.length, to, count, g.length,
                   count);
  };
  Forward<T>(wide, bias, narrow, g, pack).run();
}

// One phase of what a transposed convolution makes, along one dimension: the places `first`, `first` + stride, …, and the
// taps that meet there, `tap`, `tap` + `tap_step`, … of the kernel.
struct Phase {
  int64_t first, count, tap, taps, tap_step, dilation, padding;
};
std::vector<Phase> phases_of(const Geometry& g, size_t d) {
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
template <class T>
void transposed(const View& narrow, const View& weight, const View* bias, const View& wide,
                const Geometry& g) {
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
    std::vector<int64_t> places;  // of the taps, turned round
    for (int64_t i = depth.taps - 1; i >= 0; --i)
      for (int64_t j = line.taps - 1; j >= 0; --j)
        for (int64_t k = column.taps - 1; k >= 0; --k)
          places.push_back((depth.tap + i * depth.tap_step) * s[2] + (line.tap + j * line.tap_step) * s[3] +
                           (column.tap + k * column.tap_step) * s[4]);
    const auto pack = [&](int64_t group, int64_t channel, int64_t count, T* to) {
      const T* from = weight.as<T>() + group * g.out_channels * s[0] + channel * s[1];
      for (int64_t m = 0; m < g.out_channels; ++m)
        for (const int64_t place : places)
          for (int64_t c = 0; c < count; ++c) *to++ = from[m * s[0] + c * s[1] + place];
    };
    const int64_t kernel[] = {g.groups * g.in_channels, g.out_channels, depth.taps, line.taps, column.taps};
    const View part{data, sizes, strides, 5, wide.dtype};
    const View turned{nullptr, kernel, nullptr, 5, weight.dtype};  // its sizes
    const ConvOptions options{{1, 1, 1},
                              {depth.padding, line.padding, column.padding},
                              {depth.dilation, line.dilation, column.dilation},
                              g.groups};
    const Geometry turned_round(narrow, turned, part, options);
    Forward<T>(narrow, bias, part, turned_round, pack).run();
  };
  const std::vector<Phase> depths = phases_of(g, 0), lines = phases_of(g, 1), columns = phases_of(g, 2);
  for (const Phase& depth : depths)
    for (const Phase& line : lines)
      for (const Phase& column : columns) one({depth, line, column});
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
    const Shares shares(g_.batch, blocks_, 8);
    std::vector<std::unique_ptr<T[]>> sums;
    for (int64_t range = 0; range < shares.ranges; ++range) sums.push_back(block_of<T>(size));
    parallel_for(0, shares.count(), 1, [&](int64_t begin, int64_t end) {
      const auto image = block_of<T>(g_.in_channels * g_.channel);
      for (int64_t share = begin; share < end; ++share) {
        const auto [first, last] = shares.parts_of(share);
        for (int64_t group = 0; group < g_.groups; ++group) {
          T* own = sums[size_t(share / shares.pieces)].get() + group * blocks_ * kRows * leading_;
          std::fill(own + first * kRows * leading_, own + last * kRows * leading_, T(0));
          for (int64_t n = shares.first_of(share); n < shares.first_of(share + shares.pieces); ++n) {
            pad(wide_, g_, n, group * g_.in_channels, image.get());
            multiply(image.get(), n, group, first, last, own);
          }
        }
      }
    });
    const Dense weights(weight_, dtype_of<T>, Access::write);
    T* to = weights.view().template as<T>();
    if (g_.batch == 0) std::fill_n(to, weights.numel(), T(0));
    else write(sums, to);
    weights.store();
  }

 private:
  static constexpr int64_t kRows = ProductTiles<T>::kOuterRows;
  static constexpr int64_t kChunkBytes = 16384;  // of outputs' gradients, which stay in the first cache

  // See Note [Convolution without unrolling].
  void multiply(const T* image, int64_t n, int64_t group, int64_t first, int64_t last, T* sums) const {
    const int64_t flat = g_.flat();
    const auto turned = block_of<T>(flat * leading_);
    for (int64_t depth = 0; depth < g_.out[0]; ++depth) {
      std::fill_n(turned.get(), flat * leading_, T(0));
      for (int64_t y = 0; y < g_.out[1]; ++y) turn(n, group, depth, y, y * g_.padded[2], flat, turned.get());
      accumulate(image + depth * g_.padded[1] * g_.padded[2], g_.offsets.data(), turned.get(), flat, first,
                 last, sums);
    }
  }

  // One row of outputs, from place `at` of `count` on: with the channels side by side or, where there are few of them, one
  // after the other.
  void turn(int64_t n, int64_t group, int64_t depth, int64_t y, int64_t at, int64_t count, T* to) const {
    const int64_t step = narrow_.strides[4], run = g_.out[2];
    const T* first = row_of<T>(narrow_, n, group * g_.out_channels, depth, y);
    if (!few_ && step == 1)
      return turn_rectangle(first, narrow_.strides[1], to + at * leading_, leading_, run, g_.out_channels);
    for (int64_t c = 0; c < g_.out_channels; ++c) {
      const T* from = first + c * narrow_.strides[1];
      if (few_) copy_row(from, step, to + c * count + at, run);
      else
        for (int64_t i = 0; i < run; ++i) to[(at + i) * leading_ + c] = from[i * step];
    }
  }

  // The blocks [first, last) of the sums.
  void accumulate(const T* image, const int64_t* offsets, const T* turned, int64_t count, int64_t first,
                  int64_t last, T* sums) const {
    if (few_) {  // tiles would be nearly empty
      for (int64_t row = first * kRows; row < std::min(last * kRows, g_.length); ++row)
        for (int64_t c = 0; c < g_.out_channels; ++c)
          at_level<Dot<T>>(image + offsets[row], turned + c * count, count, sums + row * leading_ + c);
      return;
    }
    const int64_t widest = std::min(leading_, tiles_.most * tiles_.narrow);
    const int64_t chunk = std::max<int64_t>(32, kChunkBytes / int64_t(sizeof(T)) / widest);
    for (int64_t p = 0; p < count; p += chunk) {
      const int64_t width = std::min(chunk, count - p);
      for (int64_t at = 0, vectors; at < leading_; at += vectors * tiles_.narrow) {
        vectors = std::min(tiles_.most, (leading_ - at) / tiles_.narrow);
        for (int64_t b = first, blocks; b < last; b += blocks) {
          const bool tall = vectors == 1 && b + 1 < last;
          blocks = tall ? 2 : 1;
          int64_t rows[2 * kRows];  // the last block repeats its last row
          for (int64_t r = 0; r < blocks * kRows; ++r)
            rows[r] = offsets[std::min(b * kRows + r, g_.length - 1)];
          const auto tile = tall ? tiles_.tall : tiles_.outer[vectors - 1];
          tile(image + p, rows, turned + p * leading_ + at, width, sums + b * kRows * leading_ + at,
               leading_);
        }
      }
    }
  }

  // Adds up the sums of all ranges and turns them: [length, channels] becomes [channels, length].
  void write(const std::vector<std::unique_ptr<T[]>>& sums, T* to) const {
    constexpr int64_t together = 64 / int64_t(sizeof(T));  // channels
    const int64_t blocks = (g_.out_channels + together - 1) / together;
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, together * g_.length));
    parallel_for(0, g_.groups * blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t group = block / blocks, first = block % blocks * together;
        const int64_t count = std::min(together, g_.out_channels - first);
        const int64_t at = group * blocks_ * kRows * leading_ + first;
        T* total = sums[0].get() + at;
        for (size_t range = 1; range < sums.size(); ++range) {
          const T* more = sums[range].get() + at;
          for (int64_t i = 0; i < g_.length; ++i)
            for (int64_t c = 0; c < count; ++c) total[i * leading_ + c] += more[i * leading_ + c];
        }
        turn_rectangle(total, leading_, to + (group * g_.out_channels + first) * g_.length, g_.length, count,
                       g_.length);
      }
    });
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
    if (g.taps != 1 || !g.unit_stride() || g.in != g.out || pads || !Images<T>::step_of(wide) ||
        !Images<T>::step_of(narrow))
      return false;
    if (!worth_packing(g.out_channels, g.positions, g.in_channels)) return false;
    f(SingleTap<T>{g.batch, g.groups, g.in_channels, g.out_channels, g.positions, Images<T>(wide),
                   Images<T>(narrow), weight.as<T>(), weight.strides[0], weight.strides[1]});
    return true;
  }
  return false;
}

// The same with patches written out, where that pays; see Note [Patches written out].
template <class T, class F>
bool as_unrolled(bool pays, const Geometry& g, const View& wide, const View& weight, const View& narrow,
                 const F& f) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!pays) return false;
    f(Unrolled<T>(wide, weight, narrow, g));
    return true;
  }
  return false;
}
template <class F>
bool as_pairs(bool pays, const Geometry& g, const View& wide, const View& weight, const View& narrow,
              const F& f) {
  const PairTiles* tiles = pair_tiles();
  if (wide.dtype != DType::bfloat16 || !tiles || !pays) return false;
  f(Unrolled<BFloat16>(wide, weight, narrow, g, tiles));
  return true;
}

}  // namespace

void convolve(const View& wide, const View& weight, const View* bias, const View& narrow,
              const ConvOptions& options) {
  if (narrow.numel() == 0) return;
  const Geometry g(wide, weight, narrow, options);
  if (as_pairs(Unrolled<BFloat16>::pays_forward(g), g, wide, weight, narrow,
               [&](const auto& product) { product.forward(bias); }))
    return;
  in_tile_type("convolution", wide, weight, bias, narrow,
               [&](auto tag, const View& x, const View& w, const View* b, const View& y) {
                 using T = typename decltype(tag)::type;
                 if (!as_single_tap<T>(g, x, w, y, [&](const auto& product) { product.forward(b); }) &&
                     !as_unrolled<T>(Unrolled<T>::pays_forward(g), g, x, w, y,
                                     [&](const auto& product) { product.forward(b); }))
                   forward<T>(x, w, b, y, g);
               });
}

void convolve_transposed(const View& narrow, const View& weight, const View* bias, const View& wide,
                         const ConvOptions& options) {
  if (wide.numel() == 0) return;
  const Geometry g(wide, weight, narrow, options);
  if (as_pairs(Unrolled<BFloat16>::pays_transposed(g), g, wide, weight, narrow,
               [&](const auto& product) { product.transposed(bias); }))
    return;
  in_tile_type("convolution_backward_input", narrow, weight, bias, wide,
               [&](auto tag, const View& y, const View& w, const View* b, const View& x) {
                 using T = typename decltype(tag)::type;
                 if (!as_single_tap<T>(g, x, w, y, [&](const auto& product) { product.transposed(b); }) &&
                     !as_unrolled<T>(Unrolled<T>::pays_transposed(g), g, x, w, y,
                                     [&](const auto& product) { product.transposed(b); }))
                   transposed<T>(y, w, b, x, g);
               });
}

void convolve_weight(const View& wide, const View& narrow, const View& weight, const ConvOptions& options) {
  if (weight.numel() == 0) return;
  const Geometry g(wide, weight, narrow, options);
  if (as_pairs(Unrolled<BFloat16>::pays_weight_gradient(g), g, wide, weight, narrow,
               [&](const auto& product) { product.weight_gradient(); }))
    return;
  in_tile_type("convolution_backward_weight", wide, narrow, nullptr, weight,
               [&](auto tag, const View& x, const View& y, const View*, const View& w) {
                 using T = typename decltype(tag)::type;
                 if (!as_single_tap<T>(g, x, w, y, [](const auto& product) { product.weight_gradient(); }) &&
                     !as_unrolled<T>(Unrolled<T>::pays_weight_gradient(g), g, x, w, y,
                                     [](const auto& product) { product.weight_gradient(); }))
                   WeightGradient<T>(x, y, w, g).run();
               });
}

}  // namespace mt::kernels
