// How the images of a convolution are shared out among threads.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/squares.h"
#include "kernels/common/thread_buffer.h"
#include "kernels/common/types.h"
#include "kernels/conv/geometry.h"

namespace mt::kernels::convolution {

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

struct
    ConvolutionBuffers {  // what all threads read, as packed weights, and what a thread prepares for itself
  static inline constinit PerThread<ThreadBuffer> shared, own;
};

template <class T, class U>
struct Rounded {
  [[gnu::always_inline]] static inline void run(const T* from, U* to, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = U(from[i]);
  }
};

// Sums over the images, [length, leading] for each group, in blocks of `rows` along the length.
template <class T>
class ImageSums {
 public:
  ImageSums(const Geometry& g, int64_t rows, int64_t leading)
      : g_(g), rows_(rows), leading_(leading), blocks_((g.length + rows - 1) / rows) {}

  // add(first image, images, group, first block, last block, fresh, sums), for `images` of them at a time; sums that are
  // fresh have no values yet. At least `least` blocks are worth a thread. There is a sum per range of the images, added in
  // order afterwards: the result does not depend on timing.
  template <class F>
  void run(int64_t images, int64_t least, const View& weight, const F& add) {
    const Shares shares((g_.batch + images - 1) / images, blocks_, least);
    const int64_t size = blocks_ * rows_ * leading_;
    T* sums = ConvolutionBuffers::shared->room<T>(shares.ranges * g_.groups * size);
    parallel_for(0, shares.count(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t share = begin; share < end; ++share) {
        const auto [first, last] = shares.parts_of(share);
        for (int64_t group = 0; group < g_.groups; ++group) {
          T* own = sums + (share / shares.pieces * g_.groups + group) * size;
          const int64_t start = shares.first_of(share);
          for (int64_t t = start; t < shares.first_of(share + shares.pieces); ++t)
            add(t * images, std::min(images, g_.batch - t * images), group, first, last, t == start, own);
        }
      }
    });
    const Dense weights(weight, weight.dtype, Access::write);
    const int64_t ranges = g_.batch == 0 ? 0 : shares.ranges;
    if constexpr (std::is_same_v<T, float>) {
      if (weight.dtype == DType::bfloat16) write(sums, ranges, weights.view().template as<BFloat16>());
      else write(sums, ranges, weights.view().template as<T>());
    } else {
      write(sums, ranges, weights.view().template as<T>());
    }
    weights.store();
  }

 private:
  // Adds up the sums of all ranges and turns them: [length, channels] becomes [channels, length].
  template <class U>
  void write(T* sums, int64_t ranges, U* to) const {
    constexpr int64_t together = 64 / int64_t(sizeof(T)),
                      kLines = 64;  // channels; of them in the first cache
    const int64_t blocks = (g_.out_channels + together - 1) / together, size = blocks_ * rows_ * leading_;
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, together * g_.length));
    if (ranges == 0) std::fill_n(to, g_.groups * g_.out_channels * g_.length, U(0));
    parallel_for(0, ranges ? g_.groups * blocks : 0, grain, [&](int64_t begin, int64_t end) {
      const bool rounds = !std::is_same_v<T, U>;
      T* turned = rounds ? ConvolutionBuffers::own->template room<T>(together * g_.length) : nullptr;
      for (int64_t block = begin; block < end; ++block) {
        const int64_t group = block / blocks, first = block % blocks * together;
        const int64_t count = std::min(together, g_.out_channels - first);
        U* there = to + (group * g_.out_channels + first) * g_.length;
        T* put = turned;
        if constexpr (std::is_same_v<T, U>) put = there;
        for (int64_t at = 0; at < g_.length; at += kLines) {
          const int64_t lines = std::min(kLines, g_.length - at);
          T* total = sums + group * size + at * leading_ + first;
          for (int64_t i = kLines; i < std::min(2 * kLines, g_.length - at); ++i)
            __builtin_prefetch(total +
                               i * leading_);  // lines too far from each other for the processor to foresee
          for (int64_t range = 1; range < ranges; ++range) {
            const T* more = total + range * g_.groups * size;
            for (int64_t i = 0; i < lines; ++i)
              for (int64_t c = 0; c < count; ++c) total[i * leading_ + c] += more[i * leading_ + c];
          }
          turn_rectangle(total, leading_, put + at, g_.length, count, lines);
        }
        if constexpr (!std::is_same_v<T, U>) at_level<Rounded<T, U>>(turned, there, count * g_.length);
      }
    });
  }

  const Geometry& g_;
  int64_t rows_, leading_, blocks_;
};

}  // namespace mt::kernels::convolution
