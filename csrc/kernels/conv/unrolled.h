// Convolutions as products with the matrix of all their patches.
//
// Note [Patches written out]
// Weights that fill a cache come again for each tile of Note [Convolution without unrolling], and so do sums of their
// gradient for each image. A product with patches that are written out reads them once for many images. A transposed
// convolution with a stride has products with few terms where few taps meet; as one product, whose results are added up
// where they belong, it has all of them. Images are taken in groups whose patches stay within a cache; the groups do not
// depend on the number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/conv/geometry.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/packed_rows.h"

namespace mt::kernels {

template <class T>
class Unrolled {
 public:
  Unrolled(const View& wide, const View& weight, const View& narrow, const Geometry& g)
      : wide_(wide), weight_(weight), narrow_(narrow), g_(g) {
    constexpr int64_t kPatchBytes = int64_t(4) << 20;
    images_ =
        std::clamp<int64_t>(kPatchBytes / std::max<int64_t>(1, g.length * g.positions * int64_t(sizeof(T))),
                            1, std::max<int64_t>(1, g.batch));
    for (size_t d = 0; d < 3; ++d)
      for (int64_t k = 0; k < g.kernel[d]; ++k) reach_[d].push_back(reach(d, k));
  }

  // Whether writing the patches out costs less: found by measuring.
  static bool pays_forward(const Geometry& g, const View& wide) {
    return weight_bytes(g) > 4 * kCacheBytes || (are_apart(g, wide) && g.taps >= kManyTaps);
  }
  static bool pays_transposed(const Geometry& g) {
    if (g.in_channels == 1 && g.out_channels == 1) return false;  // sums along memory, and no product
    const int64_t stride = g.stride[0] * g.stride[1] * g.stride[2];
    const bool few = g.in_channels < kFewRows || g.taps <= stride, many = g.in_channels >= kManyRows;
    return (stride > 1 && (few || many)) || weight_bytes(g) > 2 * kCacheBytes;
  }
  static bool pays_weight_gradient(const Geometry& g) { return weight_bytes(g) > kCacheBytes; }

  void forward(const View* bias) const {
    const Dense weights(weight_, dtype_of<T>, Access::read);
    for_each_group([&](int64_t group, int64_t first, int64_t count) {
      const int64_t columns = count * g_.positions;
      const auto patches = block_of<T>(g_.length * columns), product = block_of<T>(g_.out_channels * columns);
      const bool apart = are_apart(g_, wide_);
      if (apart) cut_out(group, first, count, patches.get());
      else unroll(group, first, count, patches.get());
      if (bias)
        for (int64_t c = 0; c < g_.out_channels; ++c)
          std::fill_n(product.get() + c * columns, columns,
                      bias->as<T>()[(group * g_.out_channels + c) * bias->strides[0]]);
      multiply(matrix(weights, group),
               apart ? Matrix{patches.get(), 1, g_.length} : Matrix{patches.get(), columns, 1},
               Product{product.get(), g_.out_channels, columns, columns, 1}, g_.length, bias != nullptr);
      exchange(group, first, count, [&](T& there, int64_t at) { there = product[size_t(at)]; });
    });
  }

  void transposed(const View* bias) const {
    const Dense weights(weight_, dtype_of<T>, Access::read);
    for_each_group([&](int64_t group, int64_t first, int64_t count) {
      const int64_t columns = count * g_.positions;
      const auto patches = block_of<T>(g_.length * columns), slopes = block_of<T>(g_.out_channels * columns);
      exchange(group, first, count, [&](const T& there, int64_t at) { slopes[size_t(at)] = there; });
      const auto [data, row, step] = matrix(weights, group);
      multiply({data, step, row}, {slopes.get(), columns, 1},
               Product{patches.get(), g_.length, columns, columns, 1}, g_.out_channels, false);
      roll_up(group, first, count, patches.get(), bias);
    });
  }

  void weight_gradient() const {
    const Dense weights(weight_, dtype_of<T>, Access::write);
    if (g_.batch == 0)
      std::fill_n(weights.view().template as<T>(), g_.groups * g_.out_channels * g_.length, T(0));
    for_each_group([&](int64_t group, int64_t first, int64_t count) {
      const int64_t columns = count * g_.positions;
      const auto patches = block_of<T>(g_.length * columns), slopes = block_of<T>(g_.out_channels * columns);
      unroll(group, first, count, patches.get());
      exchange(group, first, count, [&](const T& there, int64_t at) { slopes[size_t(at)] = there; });
      const auto [data, row, step] = matrix(weights, group);
      multiply({slopes.get(), columns, 1}, {patches.get(), 1, columns},
               Product{data, g_.out_channels, g_.length, row, step}, columns, first > 0);
    });
    weights.store();
  }

 private:
  static constexpr int64_t kCacheBytes = int64_t(1) << 20;
  static constexpr int64_t kFewRows = 8, kManyRows = 128;  // of a product's tiles
  static constexpr int64_t kManyTaps = 16;
  static int64_t weight_bytes(const Geometry& g) { return g.out_channels * g.length * int64_t(sizeof(T)); }

  struct Matrix {
    T* data;
    int64_t row, step;
  };
  struct Product {
    T* data;
    int64_t rows, columns, row, step;
  };
  // Outputs [first, end) have their tap inside the image; that of output o is at o * stride + shift.
  struct Reach {
    int64_t first, end, shift;
  };

  Reach reach(size_t d, int64_t tap) const {
    const int64_t stride = g_.stride[d], shift = tap * g_.dilation[d] - g_.padding[d];
    const auto outputs_before = [&](int64_t place) {
      return std::clamp<int64_t>(place > shift ? (place - shift + stride - 1) / stride : 0, 0, g_.out[d]);
    };
    return {outputs_before(0), outputs_before(g_.in[d]), shift};
  }
  Matrix matrix(const Dense& weights, int64_t group) const {
    return {weights.view().template as<T>() + group * g_.out_channels * g_.length, g_.length, 1};
  }
  static void multiply(Matrix a, Matrix b, Product c, int64_t inner, bool add) {
    const int64_t left[] = {c.rows, inner}, right[] = {inner, c.columns}, result[] = {c.rows, c.columns};
    const int64_t a_steps[] = {a.row, a.step}, b_steps[] = {b.row, b.step}, c_steps[] = {c.row, c.step};
    gemm({a.data, left, a_steps, 2, dtype_of<T>}, {b.data, right, b_steps, 2, dtype_of<T>},
         {c.data, result, c_steps, 2, dtype_of<T>}, Scalar(1.0), Scalar(add ? 1.0 : 0.0));
  }
  template <class F>
  void for_each_group(const F& f) const {
    for (int64_t first = 0; first < g_.batch; first += images_)
      for (int64_t group = 0; group < g_.groups; ++group)
        f(group, first, std::min(images_, g_.batch - first));
  }

  // f(element of the narrow side, its place in [channel, image, place]).
  template <class F>
  void exchange(int64_t group, int64_t first, int64_t count, const F& f) const {
    const int64_t* s = narrow_.strides;
    const int64_t columns = count * g_.positions;
    parallel_for(0, g_.out_channels, std::max<int64_t>(1, kGrain / columns), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t channel = group * g_.out_channels + c;
        int64_t at = c * columns;
        for (int64_t n = first; n < first + count; ++n)
          for (int64_t i = 0; i < g_.out[0]; ++i)
            for (int64_t j = 0; j < g_.out[1]; ++j) {
              T* row = narrow_.as<T>() + n * s[0] + channel * s[1] + i * s[2] + j * s[3];
              for (int64_t k = 0; k < g_.out[2]; ++k) f(row[k * s[4]], at++);
            }
      }
    });
  }

  // f(tap's first output in the row, outputs, the elements there, their step, first of the row in the patches), for the
  // rows of one element of a patch.
  template <class F>
  void for_each_row(T* image, int64_t tap, const F& f) const {
    const int64_t* s = wide_.strides;
    const Reach &depth = reach_[0][size_t(tap / (g_.kernel[1] * g_.kernel[2]))],
                &line = reach_[1][size_t(tap / g_.kernel[2] % g_.kernel[1])],
                &column = reach_[2][size_t(tap % g_.kernel[2])];
    int64_t at = 0;
    for (int64_t i = 0; i < g_.out[0]; ++i) {
      for (int64_t j = 0; j < g_.out[1]; ++j, at += g_.out[2]) {
        const bool inside = i >= depth.first && i < depth.end && j >= line.first && j < line.end;
        T* row = image + (i * g_.stride[0] + depth.shift) * s[2] + (j * g_.stride[1] + line.shift) * s[3] +
                 (column.first * g_.stride[2] + column.shift) * s[4];
        f(inside ? column.first : 0, inside ? std::max<int64_t>(0, column.end - column.first) : 0, row,
          g_.stride[2] * s[4], at);
      }
    }
  }

  // Rows of a few elements are copied in pieces of one size; what is too much is overwritten by the row behind, so only the
  // last of a line, behind which another thread may write, is copied to the element.
  void unroll(int64_t group, int64_t first, int64_t count, T* patches) const {
    constexpr int64_t kPiece = 32 / int64_t(sizeof(T));
    const int64_t size = g_.in_channels * g_.channel, width = g_.out[2], columns = count * g_.positions;
    const auto images = block_of<T>(count * size + kPiece);
    parallel_for(0, count, std::max<int64_t>(1, kGrain / size), [&](int64_t begin, int64_t end) {
      std::fill(images.get() + begin * size, images.get() + end * size + (end == count ? kPiece : 0), T(0));
      for (int64_t n = begin; n < end; ++n)
        pad<T>(wide_, g_, first + n, group * g_.in_channels, images.get() + n * size);
    });
    const int64_t lines = count * g_.out[0] * g_.out[1];
    std::vector<int64_t> starts;  // of each row of outputs in the images
    starts.reserve(size_t(lines));
    for (int64_t n = 0; n < count; ++n)
      for (int64_t i = 0; i < g_.out[0]; ++i)
        for (int64_t j = 0; j < g_.out[1]; ++j)
          starts.push_back(n * size + (i * g_.padded[1] + j) * g_.padded[2]);
    parallel_for(0, g_.length, std::max<int64_t>(1, kGrain / columns), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const T* image = images.get() + g_.offsets[size_t(p)];
        T* to = patches + p * columns;
        for (int64_t line = 0; line + 1 < lines; ++line, to += width) {
          const T* from = image + starts[size_t(line)];
          int64_t k = 0;
          for (; k + kPiece <= width; k += kPiece) std::copy_n(from + k, kPiece, to + k);
          if (k < width && k + kPiece <= (lines - line) * width) std::copy_n(from + k, kPiece, to + k);
          else
            for (; k < width; ++k) to[k] = from[k];
        }
        std::copy_n(image + starts[size_t(lines - 1)], width, to);
      }
    });
  }

  // Whether the patches are pieces of the image, none of which reaches into another or beyond it: those of a vision
  // transformer. Their rows lie along memory.
  static bool are_apart(const Geometry& g, const View& wide) {
    for (size_t d = 0; d < 3; ++d)
      if (g.padding[d] != 0 || g.dilation[d] != 1 || g.stride[d] < g.kernel[d]) return false;
    return wide.strides[4] == 1;
  }

  // These as [place, element].
  void cut_out(int64_t group, int64_t first, int64_t count, T* patches) const {
    const int64_t* s = wide_.strides;
    const int64_t plane = g_.out[1] * g_.out[2], width = g_.kernel[2];
    const int64_t grain = std::max<int64_t>(1, kGrain / g_.length);
    parallel_for(0, count * g_.positions, grain, [&](int64_t begin, int64_t end) {
      T* to = patches + begin * g_.length;
      for (int64_t p = begin; p < end; ++p) {
        const int64_t i = p % g_.positions / plane, j = p % plane / g_.out[2], k = p % g_.out[2];
        for (int64_t c = 0; c < g_.in_channels; ++c)
          for (int64_t a = 0; a < g_.kernel[0]; ++a)
            for (int64_t b = 0; b < g_.kernel[1]; ++b, to += width)
              std::copy_n(wide_.as<const T>() + (first + p / g_.positions) * s[0] +
                              (group * g_.in_channels + c) * s[1] + (i * g_.stride[0] + a) * s[2] +
                              (j * g_.stride[1] + b) * s[3] + k * g_.stride[2],
                          width, to);
      }
    });
  }

  // The elements of the patches, added up where they came from.
  void roll_up(int64_t group, int64_t first, int64_t count, const T* patches, const View* bias) const {
    const int64_t columns = count * g_.positions;
    const int64_t* s = wide_.strides;
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, g_.taps * columns));
    parallel_for(0, g_.in_channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        for (int64_t n = 0; n < count; ++n) {
          const int64_t channel = group * g_.in_channels + c;
          const T start = bias ? bias->as<T>()[channel * bias->strides[0]] : T(0);
          T* image = wide_.as<T>() + (first + n) * s[0] + channel * s[1];
          for (int64_t i = 0; i < g_.in[0]; ++i)
            for (int64_t j = 0; j < g_.in[1]; ++j)
              for (int64_t k = 0; k < g_.in[2]; ++k) image[i * s[2] + j * s[3] + k * s[4]] = start;
          for (int64_t tap = 0; tap < g_.taps; ++tap) {
            const T* from = patches + (c * g_.taps + tap) * columns + n * g_.positions;
            for_each_row(image, tap, [&](int64_t before, int64_t run, T* to, int64_t step, int64_t at) {
              for (int64_t i = 0; i < run; ++i) to[i * step] += from[at + before + i];
            });
          }
        }
    });
  }

  const View &wide_, &weight_, &narrow_;
  const Geometry& g_;
  int64_t images_;
  std::array<std::vector<Reach>, 3> reach_;
};

}  // namespace mt::kernels
