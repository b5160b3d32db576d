#include "kernels/conv/conv.h"

#include <algorithm>
#include <complex>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/common/copy.h"
#include "kernels/common/dense.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/squares.h"
#include "kernels/common/types.h"
#include "kernels/conv/depthwise.h"
#include "kernels/conv/depthwise_weight.h"
#include "kernels/conv/forward.h"
#include "kernels/conv/geometry.h"
#include "kernels/conv/pairs.h"
#include "kernels/conv/shares.h"
#include "kernels/conv/single_tap.h"
#include "kernels/conv/unrolled.h"
#include "kernels/matmul/packed_rows.h"

namespace mt::kernels {

using namespace convolution;

namespace {

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
  }

  void run() const {
    ImageSums<T>(g_, kRows, leading_)
        .run(1, 8, weight_,
             [&](int64_t n, int64_t, int64_t group, int64_t first, int64_t last, bool fresh, T* sums) {
               const int64_t size = g_.in_channels * g_.channel;
               T* image = ConvolutionBuffers::own->template room<T>(size);
               if (fresh) {
                 std::fill(sums + first * kRows * leading_, sums + last * kRows * leading_, T(0));
                 std::fill_n(image, size, T(0));
               }
               pad<T>(wide_, g_, n, group * g_.in_channels, image);
               multiply(image, n, group, first, last, sums);
             });
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
    if (!few_ && narrow_.strides[1] == 1) {
      for (int64_t i = 0; i < run; ++i)
        std::copy_n(first + i * step, g_.out_channels, to + (at + i) * leading_);
      return;
    }
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

  const ProductTiles<T>& tiles_ = product_tiles<T>();
  const View &wide_, &narrow_, &weight_;
  const Geometry& g_;
  bool few_;
  int64_t leading_;
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
    SingleTap<T> product{g.batch,           g.groups,         g.in_channels,     g.out_channels,
                         g.positions,       Images<T>(wide),  Images<T>(narrow), weight.as<T>(),
                         weight.strides[0], weight.strides[1]};
    product.join();
    f(product);
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
// The same of every channel by itself, where channels lie together.
template <class T>
bool as_depthwise(const Geometry& g, const View& wide, const View& narrow, const View& weight) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!Depthwise<T>::applies(wide, narrow, g)) return false;
    DepthwiseWeight<T>(wide, narrow, g).run(weight);
    return true;
  }
  return false;
}
// Those that multiply pairs, where the processor has some and they pay.
const PairTiles* tiles_for(const Geometry& g, const View& narrow, int64_t rows, int64_t length) {
  constexpr int64_t kLeast = 16;  // channels: gathering an element costs as much as a few multiplications
  const bool pays = narrow.dtype == DType::bfloat16 && std::min(rows, length) >= kLeast &&
                    worth_pairing(rows, g.batch * g.positions, length);
  return pays ? pair_tiles() : nullptr;
}

}  // namespace

void convolve(const View& wide, const View& weight, const View* bias, const View& narrow,
              const ConvOptions& options) {
  if (narrow.numel() == 0) return;
  const Geometry g(wide, weight, narrow, options);
  if (const PairTiles* tiles = tiles_for(g, narrow, g.out_channels, g.length))
    return convolve_pairs(*tiles, wide, weight, bias, narrow, options);
  in_tile_type("convolution", wide, weight, bias, narrow,
               [&](auto tag, const View& x, const View& w, const View* b, const View& y) {
                 using T = typename decltype(tag)::type;
                 if (!as_single_tap<T>(g, x, w, y, [&](const auto& product) { product.forward(b); }) &&
                     !as_unrolled<T>(Unrolled<T>::pays_forward(g, x), g, x, w, y,
                                     [&](const auto& product) { product.forward(b); }))
                   forward<T>(product_tiles<T>(), x, w, b, y, g);
               });
}

void convolve_transposed(const View& narrow, const View& weight, const View* bias, const View& wide,
                         const ConvOptions& options) {
  if (wide.numel() == 0) return;
  const Geometry g(wide, weight, narrow, options);
  if (const PairTiles* tiles = tiles_for(g, narrow, g.in_channels, g.out_channels))
    return convolve_pairs_transposed(*tiles, narrow, weight, bias, wide, options);
  in_tile_type("convolution_backward_input", narrow, weight, bias, wide,
               [&](auto tag, const View& y, const View& w, const View* b, const View& x) {
                 using T = typename decltype(tag)::type;
                 if (!as_single_tap<T>(g, x, w, y, [&](const auto& product) { product.transposed(b); }) &&
                     !as_unrolled<T>(Unrolled<T>::pays_transposed(g), g, x, w, y,
                                     [&](const auto& product) { product.transposed(b); }))
                   transposed<T>(product_tiles<T>(), y, w, b, x, g);
               });
}

void convolve_weight(const View& wide, const View& narrow, const View& weight, const ConvOptions& options) {
  if (weight.numel() == 0) return;
  const Geometry g(wide, weight, narrow, options);
  if (const PairTiles* tiles = tiles_for(g, narrow, g.out_channels, g.length))
    return convolve_pairs_weight(*tiles, wide, narrow, weight, options);
  in_tile_type("convolution_backward_weight", wide, narrow, nullptr, weight,
               [&](auto tag, const View& x, const View& y, const View*, const View& w) {
                 using T = typename decltype(tag)::type;
                 if (!as_depthwise<T>(g, x, y, w) &&
                     !as_single_tap<T>(g, x, w, y, [](const auto& product) { product.weight_gradient(); }) &&
                     !as_unrolled<T>(Unrolled<T>::pays_weight_gradient(g), g, x, w, y,
                                     [](const auto& product) { product.weight_gradient(); }))
                   WeightGradient<T>(x, y, w, g).run();
               });
}

}  // namespace mt::kernels
