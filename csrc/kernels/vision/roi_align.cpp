#include "kernels/vision/roi_align.h"

#include <limits>
#include <span>

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

template <class C>
struct Pixel {
  int64_t at;
  C weight;
};

// The samples of all bins along one dimension; those outside the image count, but read nothing.
template <class C>
class Line {
 public:
  int64_t per_bin = 0;

  // `apart`: samples stay by themselves; otherwise a bin's weights are summed up by pixel, of which there are fewer.
  void place(C start, C length, int64_t bins, int64_t pixels, int64_t samples, bool apart) {
    const C step = length / C(bins);
    per_bin = samples > 0 ? samples : 0;
    // A box that ends before it starts has a negative number of samples: none.
    if (samples <= 0 && std::isfinite(step))
      per_bin = int64_t(std::ceil(std::min<double>(step, kMostSamples)));
    taps_.clear(), pixels_.clear(), ends_.clear();
    for (int64_t bin = 0; bin < bins; ++bin) {
      const size_t first = pixels_.size();
      for (int64_t s = 0; s < per_bin; ++s)
        add(start + C(bin) * step + (C(s) + C(0.5)) * step / C(per_bin), pixels, apart, first);
      ends_.push_back(apart ? taps_.size() : pixels_.size());
    }
  }
  std::span<const Tap<C>> taps(int64_t bin) const { return part(taps_, bin); }
  std::span<const Pixel<C>> pixels(int64_t bin) const { return part(pixels_, bin); }

 private:
  template <class T>
  std::span<const T> part(const std::vector<T>& all, int64_t bin) const {
    const size_t first = bin ? ends_[size_t(bin - 1)] : 0;
    return std::span(all).subspan(first, ends_[size_t(bin)] - first);
  }
  void add(C at, int64_t pixels, bool apart, size_t first) {
    if (!(at >= C(-1) && at <= C(pixels))) return;  // NaN lies nowhere either
    at = std::max(at, C(0));
    const int64_t low = std::min(int64_t(at), pixels - 1), high = std::min(low + 1, pixels - 1);
    const C part = high > low ? at - C(low) : C(0);
    if (apart) {
      taps_.push_back({low, high, 1 - part, part});
    } else {
      weigh({low, 1 - part}, first);
      if (high > low) weigh({high, part}, first);
    }
  }
  // Neighbouring samples share pixels, which are then the last ones.
  void weigh(Pixel<C> pixel, size_t first) {
    for (size_t i = pixels_.size(); i > first && i + 2 > pixels_.size(); --i)
      if (pixels_[i - 1].at == pixel.at) return void(pixels_[i - 1].weight += pixel.weight);
    pixels_.push_back(pixel);
  }

  std::vector<Tap<C>> taps_;
  std::vector<Pixel<C>> pixels_;
  std::vector<size_t> ends_;
};

template <class C>
class Region {
 public:
  Line<C> rows, columns;
  C count = 1;

  Region(const RoiOptions& options, int64_t height, int64_t width, int64_t bins_down, int64_t bins_across)
      : options_(options), height_(height), width_(width), down_(bins_down), across_(bins_across) {}

  void move_to(const C* corners) {
    const C scale = C(options_.scale), shift = options_.aligned ? C(0.5) : C(0);
    const C left = corners[0] * scale - shift, top = corners[1] * scale - shift;
    C wide = corners[2] * scale - shift - left, high = corners[3] * scale - shift - top;
    if (!options_.aligned) wide = std::max(wide, C(1)), high = std::max(high, C(1));
    rows.place(top, high, down_, height_, options_.samples, options_.maximum);
    columns.place(left, wide, across_, width_, options_.samples, options_.maximum);
    count = C(rows.per_bin) * C(columns.per_bin);
    // Position-sensitive regions divide by zero, as torchvision's do.
    if (!options_.own_bins) count = std::max(count, C(1));
  }

  C mean(const C* plane, int64_t row, int64_t column) const {
    C sum = 0;
    for (const Pixel<C>& r : rows.pixels(row)) {
      const C* line = plane + r.at * width_;
      C part = 0;
      for (const Pixel<C>& c : columns.pixels(column)) part += c.weight * line[c.at];
      sum += r.weight * part;
    }
    return sum / count;
  }
  void spread(C slope, C* plane, int64_t row, int64_t column) const {
    for (const Pixel<C>& r : rows.pixels(row)) {
      C* line = plane + r.at * width_;
      const C part = slope / count * r.weight;
      for (const Pixel<C>& c : columns.pixels(column)) line[c.at] += c.weight * part;
    }
  }
  C largest(const C* plane, int64_t row, int64_t column) const {
    C found = -std::numeric_limits<C>::infinity();
    for (const Tap<C>& r : rows.taps(row)) {
      const C *low = plane + r.low * width_, *high = plane + r.high * width_;
      for (const Tap<C>& c : columns.taps(column))
        found =
            std::max(found, r.low_weight * (c.low_weight * low[c.low] + c.high_weight * low[c.high]) +
                                r.high_weight * (c.low_weight * high[c.low] + c.high_weight * high[c.high]));
    }
    return std::isinf(found) && found < 0 ? C(0) : found;  // of no samples there is no largest one
  }

 private:
  const RoiOptions& options_;
  int64_t height_, width_, down_, across_;
};

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
          const int64_t row = bin / across, column = bin % across;
          y[(k * made + c) * bins + bin] =
              options.maximum ? region.largest(plane, row, column) : region.mean(plane, row, column);
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
          region.spread(dy[(k * made + c) * bins + bin], plane, bin / across, bin % across);
        }
      }
    });
    dx.store();
  });
}

}  // namespace mt::kernels
