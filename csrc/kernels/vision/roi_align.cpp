#include "kernels/vision/roi_align.h"

#include <limits>

#include "kernels/common/rows.h"
#include "kernels/vision/regions.h"

namespace mt::kernels {
namespace {

constexpr double kMostSamples = 1e6;  // of a bin: of larger boxes almost nothing lies in an image

// One sample along one dimension: two pixels and their weights.
template <class C>
struct Tap {
  int64_t low, high;
  C low_weight, high_weight;
};

// The samples of all bins along one dimension; those outside the image count, but read nothing.
template <class C>
class Taps {
 public:
  int64_t per_bin = 0;

  void place(C start, C length, int64_t bins, int64_t pixels, int64_t samples) {
    const C step = length / C(bins);
    per_bin = samples > 0 ? samples : 0;
    // A box that ends before it starts has a negative number of samples: none.
    if (samples <= 0 && std::isfinite(step))
      per_bin = int64_t(std::ceil(std::min<double>(step, kMostSamples)));
    taps_.clear();
    ends_.clear();
    for (int64_t bin = 0; bin < bins; ++bin) {
      for (int64_t s = 0; s < per_bin; ++s)
        add(start + C(bin) * step + (C(s) + C(0.5)) * step / C(per_bin), pixels);
      ends_.push_back(taps_.size());
    }
  }
  const Tap<C>* begin(int64_t bin) const { return taps_.data() + (bin ? ends_[size_t(bin - 1)] : 0); }
  const Tap<C>* end(int64_t bin) const { return taps_.data() + ends_[size_t(bin)]; }

 private:
  void add(C at, int64_t pixels) {
    if (!(at >= C(-1) && at <= C(pixels))) return;  // NaN lies nowhere either
    at = std::max(at, C(0));
    const int64_t low = std::min(int64_t(at), pixels - 1), high = std::min(low + 1, pixels - 1);
    const C part = high > low ? at - C(low) : C(0);
    taps_.push_back({low, high, 1 - part, part});
  }

  std::vector<Tap<C>> taps_;
  std::vector<size_t> ends_;
};

template <class C>
class Region {
 public:
  Taps<C> rows, columns;
  C count = 1;

  Region(const RoiOptions& options, int64_t height, int64_t width, int64_t bins_down, int64_t bins_across)
      : options_(options), height_(height), width_(width), down_(bins_down), across_(bins_across) {}

  void move_to(const C* corners) {
    const C scale = C(options_.scale), shift = options_.aligned ? C(0.5) : C(0);
    const C left = corners[0] * scale - shift, top = corners[1] * scale - shift;
    C wide = corners[2] * scale - shift - left, high = corners[3] * scale - shift - top;
    if (!options_.aligned) wide = std::max(wide, C(1)), high = std::max(high, C(1));
    rows.place(top, high, down_, height_, options_.samples);
    columns.place(left, wide, across_, width_, options_.samples);
    count = C(rows.per_bin) * C(columns.per_bin);
    if (!options_.own_bins)
      count = std::max(count, C(1));  // position-sensitive ones divide by zero, as torchvision's do
  }

 private:
  const RoiOptions& options_;
  int64_t height_, width_, down_, across_;
};

// Calls f(weight, pixel) for the four pixels of a sample.
template <class C, class F>
[[gnu::always_inline]] inline void for_each_pixel(const Tap<C>& row, const Tap<C>& column, int64_t width,
                                                  const F& f) {
  const int64_t low = row.low * width, high = row.high * width;
  f(row.low_weight * column.low_weight, low + column.low);
  f(row.low_weight * column.high_weight, low + column.high);
  f(row.high_weight * column.low_weight, high + column.low);
  f(row.high_weight * column.high_weight, high + column.high);
}

template <class C>
C pooled(const C* plane, int64_t width, const Region<C>& region, int64_t row, int64_t column, bool maximum) {
  C sum = 0, largest = -std::numeric_limits<C>::infinity();
  for (const Tap<C>* r = region.rows.begin(row); r != region.rows.end(row); ++r) {
    for (const Tap<C>* c = region.columns.begin(column); c != region.columns.end(column); ++c) {
      C value = 0;
      for_each_pixel(*r, *c, width, [&](C weight, int64_t pixel) { value += weight * plane[pixel]; });
      sum += value;
      largest = std::max(largest, value);
    }
  }
  if (!maximum) return sum / region.count;
  return std::isinf(largest) && largest < 0 ? C(0) : largest;  // of no samples there is no largest one
}

}  // namespace

void roi_align(const View& images, const View& boxes, const RoiOptions& options, const View& out) {
  const int64_t channels = images.sizes[1], height = images.sizes[2], width = images.sizes[3];
  const int64_t made = out.sizes[1], down = out.sizes[2], across = out.sizes[3], bins = down * across;
  if (out.numel() == 0) return;
  with_compute_type(images.dtype, "roi_align", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Boxes<C> all(boxes, images.sizes[0], "roi_align");
    const DenseInput<C> x(images);
    const DenseOutput<C> y(out);
    for_each_region(all.count(), made, bins * 16, [&](int64_t k, int64_t first, int64_t end) {
      Region<C> region(options, height, width, down, across);
      region.move_to(all.corners(k));
      const C* image = x.data() + all.image(k) * channels * height * width;
      for (int64_t c = first; c < end; ++c) {
        for (int64_t bin = 0; bin < bins; ++bin) {
          const C* plane = image + (options.own_bins ? c * bins + bin : c) * height * width;
          y[(k * made + c) * bins + bin] =
              pooled(plane, width, region, bin / across, bin % across, options.maximum);
        }
      }
    });
    y.store();
  });
}

void roi_align_backward(const View& grad, const View& boxes, const RoiOptions& options,
                        const View& grad_images) {
  const int64_t images = grad_images.sizes[0], channels = grad_images.sizes[1], height = grad_images.sizes[2],
                width = grad_images.sizes[3];
  const int64_t made = grad.sizes[1], down = grad.sizes[2], across = grad.sizes[3], bins = down * across;
  with_compute_type(grad.dtype, "roi_align_backward", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Boxes<C> all(boxes, images, "roi_align_backward");
    const DenseInput<C> dy(grad);
    const DenseOutput<C> dx(grad_images);
    dx.fill(0);
    for_each_region_of_images(all, images, made, bins * 16, [&](int64_t k, int64_t first, int64_t end) {
      Region<C> region(options, height, width, down, across);
      region.move_to(all.corners(k));
      C* image = dx.data() + all.image(k) * channels * height * width;
      for (int64_t c = first; c < end; ++c) {
        for (int64_t bin = 0; bin < bins; ++bin) {
          C* plane = image + (options.own_bins ? c * bins + bin : c) * height * width;
          const int64_t row = bin / across, column = bin % across;
          const C slope = dy[(k * made + c) * bins + bin] / region.count;
          for (const Tap<C>* r = region.rows.begin(row); r != region.rows.end(row); ++r)
            for (const Tap<C>* q = region.columns.begin(column); q != region.columns.end(column); ++q)
              for_each_pixel(*r, *q, width, [&](C weight, int64_t pixel) { plane[pixel] += slope * weight; });
        }
      }
    });
    dx.store();
  });
}

}  // namespace mt::kernels
