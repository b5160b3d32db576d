#include "kernels/conv/pairs.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/common/levels.h"
#include "kernels/common/squares.h"
#include "kernels/conv/forward.h"
#include "kernels/conv/geometry.h"
#include "kernels/conv/shares.h"
#include "kernels/matmul/pair_rows.h"

namespace mt::kernels {

using namespace convolution;

namespace {

struct AddSquare {
  [[gnu::always_inline]] static inline void run(const float* square, bool fresh, float* to, int64_t leading) {
    constexpr int64_t side = PairTiles::kSide;
    if (fresh) {
      for (int64_t i = 0; i < side; ++i)
        for (int64_t j = 0; j < side; ++j) to[i * leading + j] = square[i * side + j];
    } else {
      for (int64_t i = 0; i < side; ++i)
        for (int64_t j = 0; j < side; ++j) to[i * leading + j] += square[i * side + j];
    }
  }
};

// Products of the image, shifted, and the outputs' gradient. Pairs are of places that follow one another; those of several
// small images are one product, and those of a large one several.
class PairWeightGradient {
 public:
  PairWeightGradient(const PairTiles& tiles, const View& wide, const View& narrow, const Geometry& g)
      : tiles_(tiles), wide_(wide), narrow_(narrow), g_(g) {}

  void run(const View& weight) const {
    ImageSums<float>(g_, kSide, leading_)
        .run(images_, 1, weight,
             [&](int64_t n, int64_t count, int64_t group, int64_t first, int64_t last, bool fresh,
                 float* sums) { add(n, count, group, first, last, fresh, sums); });
  }

 private:
  static constexpr int64_t kSide = PairTiles::kSide, kHalf = PairTiles::kHalf, kDepth = PairTiles::kDepth;
  static constexpr int64_t kPlaces = 4096, kMostImages = 8;

  static int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

  // Each range of images has its own sums: where these are large, threads rather share them.
  int64_t choose_images() const {
    constexpr int64_t kLarge = int64_t(1) << 20;
    const int64_t most = std::clamp<int64_t>(kPlaces / (2 * line_), 1, kMostImages);
    const int64_t shares = g_.length * leading_ >= kLarge ? 1 : get_num_threads();
    return std::clamp<int64_t>(g_.batch / shares, 1, most);
  }

  void add(int64_t n, int64_t count, int64_t group, int64_t first, int64_t last, bool fresh,
           float* sums) const {
    const int64_t size = g_.in_channels * g_.channel, places = count * largest_;
    const int64_t sizes[] = {round_up(count * size + kDepth, kDepth), count * leading_ * line_,
                             leading_ * places, kSide * places};
    BFloat16* images = ConvolutionBuffers::own->room<BFloat16>(
        std::accumulate(std::begin(sizes), std::end(sizes), int64_t(0)));
    BFloat16 *lines = images + sizes[0], *right = lines + sizes[1], *left = right + sizes[2];
    std::fill(images, lines, BFloat16());
    for (int64_t i = 0; i < count; ++i)
      pad<BFloat16>(wide_, g_, n + i, group * g_.in_channels, images + i * size);
    for (int64_t depth = 0; depth < g_.out[0]; ++depth) {
      put_lines(n, count, group, depth, lines);
      for (int64_t at = 0; at < line_; at += largest_) {
        const int64_t width = std::min(largest_, line_ - at);
        turn(lines, count, at, width, right);
        const BFloat16* image = images + depth * g_.padded[1] * g_.padded[2] + at;
        tiles_.begin();
        for (int64_t block = first; block < last; ++block) {
          gather(image, count, size, width, block * kSide, left);
          multiply(left, right, count * width, fresh, sums + block * kSide * leading_);
        }
        tiles_.end();
        fresh = false;
      }
    }
  }

  // The outputs' gradient, [image, channel, flat place] with zeros where there is no output.
  void put_lines(int64_t n, int64_t count, int64_t group, int64_t depth, BFloat16* to) const {
    std::fill_n(to, count * leading_ * line_, BFloat16());
    for (int64_t i = 0; i < count; ++i)
      for (int64_t c = 0; c < g_.out_channels; ++c)
        for (int64_t y = 0; y < g_.out[1]; ++y)
          copy_row(row_of<BFloat16>(narrow_, n + i, group * g_.out_channels + c, depth, y),
                   narrow_.strides[4], to + (i * leading_ + c) * line_ + y * g_.padded[2], g_.out[2]);
  }
  // The places [at, at + width) of them as [channel / 32, image, pair of places, 32].
  void turn(const BFloat16* lines, int64_t count, int64_t at, int64_t width, BFloat16* to) const {
    for (int64_t c = 0; c < leading_; c += kSide)
      for (int64_t i = 0; i < count; ++i, to += width * kSide)
        turn_rectangle(reinterpret_cast<const float*>(lines + (i * leading_ + c) * line_ + at), line_ / 2,
                       reinterpret_cast<float*>(to), kSide, width / 2, kSide);
  }
  // Elements [row, row + 32) of the patches at these places, as [element / 16, place / 32, 16, 32]; what is behind the last
  // repeats it.
  void gather(const BFloat16* image, int64_t count, int64_t size, int64_t width, int64_t row,
              BFloat16* to) const {
    for (int64_t r = 0; r < kSide; ++r) {
      const BFloat16* from = image + g_.offsets[size_t(std::min(row + r, g_.length - 1))];
      BFloat16* panel = to + r / kHalf * kHalf * count * width + r % kHalf * kDepth;
      for (int64_t i = 0; i < count; ++i)
        for (int64_t p = 0; p < width; p += kDepth, panel += kHalf * kDepth)
          std::memcpy(panel, from + i * size + p, kDepth * sizeof(BFloat16));
    }
  }
  void multiply(const BFloat16* left, const BFloat16* right, int64_t places, bool fresh, float* sums) const {
    alignas(64) float square[kSide * kSide];
    for (int64_t c = 0; c < leading_; c += kSide) {
      tiles_.multiply(left, kHalf * places, right + c * places, 2 * kHalf, 2 * kSide, places / kDepth,
                      square);
      at_level<AddSquare>(square, fresh, sums + c, leading_);
    }
  }

  const PairTiles& tiles_;
  const View &wide_, &narrow_;
  const Geometry& g_;
  const int64_t leading_ = round_up(g_.out_channels, kSide), line_ = round_up(g_.flat(), kDepth);
  const int64_t images_ = choose_images();            // at a time
  const int64_t largest_ = std::min(line_, kPlaces);  // places of an image at a time
};

}  // namespace

void convolve_pairs(const PairTiles& tiles, const View& wide, const View& weight, const View* bias,
                    const View& narrow, const ConvOptions& options) {
  const Geometry g(wide, weight, narrow, options, PairRows::kStack);
  forward<BFloat16, PairRows>(tiles, wide, weight, bias, narrow, g);
}

void convolve_pairs_transposed(const PairTiles& tiles, const View& narrow, const View& weight,
                               const View* bias, const View& wide, const ConvOptions& options) {
  const Geometry g(wide, weight, narrow, options);
  transposed<BFloat16, PairRows>(tiles, narrow, weight, bias, wide, g);
}

void convolve_pairs_weight(const PairTiles& tiles, const View& wide, const View& narrow, const View& weight,
                           const ConvOptions& options) {
  const Geometry g(wide, weight, narrow, options);
  PairWeightGradient(tiles, wide, narrow, g).run(weight);
}

}  // namespace mt::kernels
