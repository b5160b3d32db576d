// Each image is unrolled into columns, one row for each channel and element of the kernel, which products then take.
#include "kernels/vision/deform_conv.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"
#include "kernels/matmul/matmul.h"

namespace mt::kernels {
namespace {

struct Shape {
  int64_t images, channels, height, width, kernel_h, kernel_w, made, out_h, out_w;
  int64_t taps, places, pixels;  // of a kernel, of a result's plane, of an image's plane
  DeformOptions options;

  Shape(const View& x, const View& weight, const View& offset, const DeformOptions& o)
      : images(x.sizes[0]),
        channels(x.sizes[1]),
        height(x.sizes[2]),
        width(x.sizes[3]),
        kernel_h(weight.sizes[2]),
        kernel_w(weight.sizes[3]),
        made(weight.sizes[0]),
        out_h(offset.sizes[2]),
        out_w(offset.sizes[3]),
        taps(kernel_h * kernel_w),
        places(out_h * out_w),
        pixels(height * width),
        options(o) {}
  int64_t channels_per_offset() const { return channels / options.offset_groups; }
};

// Where one element of the kernel reads for one place of the result: four pixels, -1 for those outside the image.
template <class C>
struct Corners {
  int64_t at[4];   // above left, above right, below left, below right
  C down, across;  // from the first to the last

  Corners(const Shape& s, C y, C x) {
    const bool sane = y > C(-1e9) && y < C(1e9) && x > C(-1e9) && x < C(1e9);  // NaN lies nowhere
    const C top = sane ? std::floor(y) : C(-2), left = sane ? std::floor(x) : C(-2);
    down = sane ? y - top : C(0), across = sane ? x - left : C(0);
    for (int i = 0; i < 4; ++i) {
      const int64_t row = int64_t(top) + i / 2, column = int64_t(left) + i % 2;
      const bool inside = row >= 0 && row < s.height && column >= 0 && column < s.width;
      at[i] = inside ? row * s.width + column : -1;
    }
  }
  C pixel(const C* plane, int i) const { return at[i] >= 0 ? plane[at[i]] : C(0); }
  C weight(int i) const { return (i / 2 ? down : 1 - down) * (i % 2 ? across : 1 - across); }

  C value(const C* plane) const {
    C sum = 0;
    for (int i = 0; i < 4; ++i) sum += weight(i) * pixel(plane, i);
    return sum;
  }
  C slope_down(const C* plane) const {
    return (1 - across) * (pixel(plane, 2) - pixel(plane, 0)) + across * (pixel(plane, 3) - pixel(plane, 1));
  }
  C slope_across(const C* plane) const {
    return (1 - down) * (pixel(plane, 1) - pixel(plane, 0)) + down * (pixel(plane, 3) - pixel(plane, 2));
  }
};

// One image's part of the tensors.
template <class C>
struct Image {
  const Shape& s;
  const C *x, *offset, *mask;

  // Where element `tap` of the kernel reads for the channels of a group of offsets, for every place of the result.
  void corners(int64_t group, int64_t tap, std::vector<Corners<C>>& found) const {
    const C* down = offset + (group * s.taps + tap) * 2 * s.places;
    const C* across = down + s.places;
    const int64_t row = tap / s.kernel_w * s.options.dilation[0] - s.options.padding[0],
                  column = tap % s.kernel_w * s.options.dilation[1] - s.options.padding[1];
    found.clear();
    for (int64_t i = 0; i < s.out_h; ++i)
      for (int64_t j = 0; j < s.out_w; ++j)
        found.emplace_back(s, C(i * s.options.stride[0] + row) + down[i * s.out_w + j],
                           C(j * s.options.stride[1] + column) + across[i * s.out_w + j]);
  }
  const C* factors(int64_t group, int64_t tap) const {
    return mask ? mask + (group * s.taps + tap) * s.places : nullptr;
  }
};

// Calls f(group of offsets, element of the kernel) for all of them, on several threads.
template <class F>
void for_each_tap(const Shape& s, const F& f) {
  parallel_for(0, s.options.offset_groups * s.taps, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i / s.taps, i % s.taps);
  });
}

// columns [channels * taps, places]
template <class C>
void unroll(const Image<C>& image, C* columns) {
  const Shape& s = image.s;
  for_each_tap(s, [&](int64_t group, int64_t tap) {
    std::vector<Corners<C>> corners;
    corners.reserve(size_t(s.places));
    image.corners(group, tap, corners);
    const C* factors = image.factors(group, tap);
    for (int64_t c = group * s.channels_per_offset(), end = c + s.channels_per_offset(); c < end; ++c) {
      const C* plane = image.x + c * s.pixels;
      C* to = columns + (c * s.taps + tap) * s.places;
      for (int64_t p = 0; p < s.places; ++p) {
        const C value = corners[size_t(p)].value(plane);
        to[p] = factors ? value * factors[p] : value;
      }
    }
  });
}

// From the gradient of the columns those of offset and mask (null if there is none).
template <class C>
void gradient_of_places(const Image<C>& image, const C* grad_columns, C* grad_offset, C* grad_mask) {
  const Shape& s = image.s;
  for_each_tap(s, [&](int64_t group, int64_t tap) {
    std::vector<Corners<C>> corners;
    corners.reserve(size_t(s.places));
    image.corners(group, tap, corners);
    const C* factors = image.factors(group, tap);
    C* down = grad_offset + (group * s.taps + tap) * 2 * s.places;
    C* across = down + s.places;
    C* share = grad_mask ? grad_mask + (group * s.taps + tap) * s.places : nullptr;
    std::fill_n(down, 2 * s.places, C(0));
    if (share) std::fill_n(share, s.places, C(0));
    for (int64_t c = group * s.channels_per_offset(), end = c + s.channels_per_offset(); c < end; ++c) {
      const C* plane = image.x + c * s.pixels;
      const C* from = grad_columns + (c * s.taps + tap) * s.places;
      for (int64_t p = 0; p < s.places; ++p) {
        const Corners<C>& at = corners[size_t(p)];
        const C slope = factors ? from[p] * factors[p] : from[p];
        down[p] += slope * at.slope_down(plane);
        across[p] += slope * at.slope_across(plane);
        if (share) share[p] += from[p] * at.value(plane);
      }
    }
  });
}

// From the gradient of the columns that of the image. Threads share channels, so that no two add to one pixel.
template <class C>
void gradient_of_image(const Image<C>& image, const C* grad_columns, C* grad_image) {
  const Shape& s = image.s;
  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(s.taps * s.places, 1), 1);
  std::fill_n(grad_image, s.channels * s.pixels, C(0));
  parallel_for(0, s.channels, grain, [&](int64_t begin, int64_t end) {
    std::vector<Corners<C>> corners;
    corners.reserve(size_t(s.places));
    for (int64_t first = begin; first < end;) {
      const int64_t group = first / s.channels_per_offset(),
                    last = std::min(end, (group + 1) * s.channels_per_offset());
      for (int64_t tap = 0; tap < s.taps; ++tap) {
        image.corners(group, tap, corners);
        const C* factors = image.factors(group, tap);
        for (int64_t c = first; c < last; ++c) {
          C* plane = grad_image + c * s.pixels;
          const C* from = grad_columns + (c * s.taps + tap) * s.places;
          for (int64_t p = 0; p < s.places; ++p) {
            const Corners<C>& at = corners[size_t(p)];
            const C slope = factors ? from[p] * factors[p] : from[p];
            for (int i = 0; i < 4; ++i)
              if (at.at[i] >= 0) plane[at.at[i]] += slope * at.weight(i);
          }
        }
      }
      first = last;
    }
  });
}

// A dense matrix, or its transpose, as a factor of a product.
template <class C>
struct Matrix {
  int64_t sizes[2], strides[2];
  void* data;
  Matrix(const C* first, int64_t rows, int64_t columns, bool transposed = false)
      : sizes{transposed ? columns : rows, transposed ? rows : columns},
        strides{transposed ? 1 : columns, transposed ? columns : 1},
        data(const_cast<C*>(first)) {}
  View view() const { return {data, sizes, strides, 2, dtype_of<C>}; }
};

template <class C>
void product(const Matrix<C>& a, const Matrix<C>& b, const Matrix<C>& out, bool add = false) {
  gemm(a.view(), b.view(), out.view(), 1, add ? 1 : 0);
}

template <class C>
std::unique_ptr<C[]> columns_of(const Shape& s) {
  return std::unique_ptr<C[]>(new C[size_t(s.channels * s.taps * s.places)]);
}

}  // namespace

void deform_convolve(const View& images, const View& weight, const View& offset, const View* mask,
                     const View& bias, const View& out, const DeformOptions& options) {
  const Shape s(images, weight, offset, options);
  const int64_t depth = s.channels / options.groups * s.taps, made = s.made / options.groups;
  with_compute_type(images.dtype, "deform_conv2d", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> x(images), w(weight), o(offset), b(bias), m(mask ? *mask : bias);
    const DenseOutput<C> y(out);
    const auto columns = columns_of<C>(s);
    for (int64_t n = 0; n < s.images; ++n) {
      unroll(Image<C>{s, x.data() + n * s.channels * s.pixels,
                      o.data() + n * options.offset_groups * s.taps * 2 * s.places,
                      mask ? m.data() + n * options.offset_groups * s.taps * s.places : nullptr},
             columns.get());
      C* to = y.data() + n * s.made * s.places;
      for (int64_t i = 0; i < s.made * s.places; ++i) to[i] = b[i / s.places];
      for (int64_t g = 0; g < options.groups; ++g)
        product(Matrix<C>(w.data() + g * made * depth, made, depth),
                Matrix<C>(columns.get() + g * depth * s.places, depth, s.places),
                Matrix<C>(to + g * made * s.places, made, s.places), true);
    }
    y.store();
  });
}

void deform_convolve_backward(const View& grad, const View& images, const View& weight, const View& offset,
                              const View* mask, const DeformGradients& gradients,
                              const DeformOptions& options) {
  const Shape s(images, weight, offset, options);
  const int64_t depth = s.channels / options.groups * s.taps, made = s.made / options.groups;
  with_compute_type(images.dtype, "deform_conv2d", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> dy(grad), x(images), w(weight), o(offset), m(mask ? *mask : weight);
    const DenseOutput<C> dx(gradients.images), dw(gradients.weight), d_offset(gradients.offset),
        db(gradients.bias), dm(mask ? *gradients.mask : gradients.bias);
    dw.fill(0);
    db.fill(0);
    const auto columns = columns_of<C>(s);
    for (int64_t n = 0; n < s.images; ++n) {
      const int64_t group_places = options.offset_groups * s.taps * s.places;
      const Image<C> image{s, x.data() + n * s.channels * s.pixels, o.data() + n * group_places * 2,
                           mask ? m.data() + n * group_places : nullptr};
      const C* from = dy.data() + n * s.made * s.places;
      for (int64_t i = 0; i < s.made; ++i)
        db[i] += C(sum_of<C>(s.places, [&](int64_t p) { return from[i * s.places + p]; }));
      unroll(image, columns.get());
      for (int64_t g = 0; g < options.groups; ++g)
        product(Matrix<C>(from + g * made * s.places, made, s.places),
                Matrix<C>(columns.get() + g * depth * s.places, depth, s.places, true),
                Matrix<C>(dw.data() + g * made * depth, made, depth), true);
      for (int64_t g = 0; g < options.groups; ++g)
        product(Matrix<C>(w.data() + g * made * depth, made, depth, true),
                Matrix<C>(from + g * made * s.places, made, s.places),
                Matrix<C>(columns.get() + g * depth * s.places, depth, s.places));
      gradient_of_places(image, columns.get(), d_offset.data() + n * group_places * 2,
                         mask ? dm.data() + n * group_places : nullptr);
      gradient_of_image(image, columns.get(), dx.data() + n * s.channels * s.pixels);
    }
    dx.store(), dw.store(), d_offset.store(), db.store();
    if (mask) dm.store();
  });
}

}  // namespace mt::kernels
