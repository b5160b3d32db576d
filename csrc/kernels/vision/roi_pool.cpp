#include "kernels/vision/roi_pool.h"

#include <limits>

#include "kernels/common/rows.h"
#include "kernels/vision/regions.h"

namespace mt::kernels {
namespace {

// The nearest pixel; what is no number is 0, and far away is far away.
template <class C>
int64_t nearest(C at) {
  if (std::isnan(at)) return 0;
  return int64_t(std::round(std::clamp<C>(at, C(-1e9), C(1e9))));
}

// The pixels of a bin along one dimension.
struct Range {
  int64_t begin, end;
};

// How a box is cut into bins of whole pixels along one dimension.
template <class C>
struct Cut {
  int64_t start, last;  // `last` is the largest end of a range
  C step;
  Range bin(int64_t i) const {
    const int64_t from = start + int64_t(std::floor(C(i) * step)),
                  to = start + int64_t(std::ceil(C(i + 1) * step));
    return {std::clamp<int64_t>(from, 0, last), std::clamp<int64_t>(to, 0, last)};
  }
};

// Boxes of the largest pixel include their last pixel.
template <class C>
Cut<C> cut_with_end(C from, C to, C scale, int64_t bins, int64_t pixels) {
  const int64_t start = nearest(from * scale), length = nearest(to * scale) - start + 1;
  return {start, pixels, C(std::max<int64_t>(length, 1)) / C(bins)};
}
// Those of the mean do not, and never reach the last row and column of the image.
template <class C>
Cut<C> cut_without_end(C from, C to, C scale, int64_t bins, int64_t pixels) {
  const int64_t start = nearest(from * scale), length = nearest(to * scale) - start;
  return {start, std::max<int64_t>(pixels - 1, 0), C(std::max<int64_t>(length, 1)) / C(bins)};
}

template <class C>
void largest_pixel(const C* plane, int64_t width, Range rows, Range columns, C& value, int32_t& place) {
  place = -1;
  value = 0;
  if (rows.begin >= rows.end || columns.begin >= columns.end) return;
  value = std::numeric_limits<C>::lowest();
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t column = columns.begin; column < columns.end; ++column) {
      const int64_t at = row * width + column;
      if (plane[at] > value) value = plane[at], place = int32_t(at);
    }
  }
}

}  // namespace

void roi_pool(const View& images, const View& boxes, double scale, const View& out, const View& argmax) {
  const int64_t channels = images.sizes[1], height = images.sizes[2], width = images.sizes[3];
  const int64_t down = out.sizes[2], across = out.sizes[3], bins = down * across;
  MT_CHECK(height * width <= std::numeric_limits<int32_t>::max(), "roi_pool: a plane of ", height, " x ",
           width, " pixels is too large for indices of 32 bits");
  if (out.numel() == 0) return;
  with_compute_type(images.dtype, "roi_pool", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Boxes<C> all(boxes, images.sizes[0], "roi_pool");
    const DenseInput<C> x(images);
    const DenseOutput<C> y(out);
    const DenseOutput<int32_t> places(argmax);
    for_each_region(all.count(), channels, height * width, [&](int64_t k, int64_t first, int64_t end) {
      const C* b = all.corners(k);
      const Cut<C> rows = cut_with_end(b[1], b[3], C(scale), down, height),
                   columns = cut_with_end(b[0], b[2], C(scale), across, width);
      for (int64_t c = first; c < end; ++c) {
        const C* plane = x.data() + (all.image(k) * channels + c) * height * width;
        for (int64_t bin = 0; bin < bins; ++bin) {
          const int64_t to = (k * channels + c) * bins + bin;
          largest_pixel(plane, width, rows.bin(bin / across), columns.bin(bin % across), y[to], places[to]);
        }
      }
    });
    y.store();
    places.store();
  });
}

void roi_pool_backward(const View& grad, const View& boxes, const View& argmax, const View& grad_images) {
  const int64_t images = grad_images.sizes[0], channels = grad_images.sizes[1],
                pixels = grad_images.sizes[2] * grad_images.sizes[3], bins = grad.sizes[2] * grad.sizes[3];
  with_compute_type(grad.dtype, "roi_pool_backward", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Boxes<C> all(boxes, images, "roi_pool_backward");
    const DenseInput<C> dy(grad);
    const DenseInput<int32_t> places(argmax);
    const DenseOutput<C> dx(grad_images);
    dx.fill(0);
    for_each_region_of_images(all, images, channels, bins, [&](int64_t k, int64_t first, int64_t end) {
      for (int64_t c = first; c < end; ++c) {
        C* plane = dx.data() + (all.image(k) * channels + c) * pixels;
        for (int64_t i = (k * channels + c) * bins, last = i + bins; i < last; ++i) {
          MT_CHECK_AS(index, places[i] < pixels, "roi_pool_backward: argmax ", places[i], " of ", pixels,
                      " pixels");
          if (places[i] >= 0) plane[places[i]] += dy[i];
        }
      }
    });
    dx.store();
  });
}

void ps_roi_pool(const View& images, const View& boxes, double scale, const View& out) {
  const int64_t channels = images.sizes[1], height = images.sizes[2], width = images.sizes[3];
  const int64_t made = out.sizes[1], down = out.sizes[2], across = out.sizes[3], bins = down * across;
  with_compute_type(images.dtype, "ps_roi_pool", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Boxes<C> all(boxes, images.sizes[0], "ps_roi_pool");
    const DenseInput<C> x(images);
    const DenseOutput<C> y(out);
    for_each_region(all.count(), made, height * width, [&](int64_t k, int64_t first, int64_t end) {
      const C* b = all.corners(k);
      const Cut<C> rows = cut_without_end(b[1], b[3], C(scale), down, height),
                   columns = cut_without_end(b[0], b[2], C(scale), across, width);
      for (int64_t bin = 0; bin < bins; ++bin) {
        const Range r = rows.bin(bin / across), q = columns.bin(bin % across);
        for (int64_t c = first; c < end; ++c) {
          const C* plane = x.data() + (all.image(k) * channels + c * bins + bin) * height * width;
          C sum = 0;
          for (int64_t row = r.begin; row < r.end; ++row)
            for (int64_t column = q.begin; column < q.end; ++column) sum += plane[row * width + column];
          const int64_t count = (r.end - r.begin) * (q.end - q.begin);
          y[(k * made + c) * bins + bin] = count > 0 ? sum / C(count) : C(0);
        }
      }
    });
    y.store();
  });
}

void ps_roi_pool_backward(const View& grad, const View& boxes, double scale, const View& grad_images) {
  const int64_t images = grad_images.sizes[0], channels = grad_images.sizes[1], height = grad_images.sizes[2],
                width = grad_images.sizes[3];
  const int64_t made = grad.sizes[1], down = grad.sizes[2], across = grad.sizes[3], bins = down * across;
  with_compute_type(grad.dtype, "ps_roi_pool_backward", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Boxes<C> all(boxes, images, "ps_roi_pool_backward");
    const DenseInput<C> dy(grad);
    const DenseOutput<C> dx(grad_images);
    dx.fill(0);
    for_each_region_of_images(all, images, made, height * width, [&](int64_t k, int64_t first, int64_t end) {
      const C* b = all.corners(k);
      const Cut<C> rows = cut_without_end(b[1], b[3], C(scale), down, height),
                   columns = cut_without_end(b[0], b[2], C(scale), across, width);
      for (int64_t bin = 0; bin < bins; ++bin) {
        const Range r = rows.bin(bin / across), q = columns.bin(bin % across);
        const int64_t count = (r.end - r.begin) * (q.end - q.begin);
        for (int64_t c = first; count > 0 && c < end; ++c) {
          C* plane = dx.data() + (all.image(k) * channels + c * bins + bin) * height * width;
          const C share = dy[(k * made + c) * bins + bin] / C(count);
          for (int64_t row = r.begin; row < r.end; ++row)
            for (int64_t column = q.begin; column < q.end; ++column) plane[row * width + column] += share;
        }
      }
    });
    dx.store();
  });
}

}  // namespace mt::kernels
