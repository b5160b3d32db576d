#include "kernels/resample/roi_align.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/dense.h"
#include "kernels/common/rows.h"

namespace mt::kernels {
namespace {

// One sample: four pixels and their weights.
struct Sample {
  int64_t at[4];
  double weight[4];
};

Sample sample_at(double y, double x, int64_t height, int64_t width) {
  Sample s{};
  if (!(y >= -1 && y <= double(height) && x >= -1 && x <= double(width)))
    return s;  // NaN lies nowhere either
  y = std::max(y, 0.0), x = std::max(x, 0.0);
  int64_t top = int64_t(y), left = int64_t(x);
  const auto clamp = [](int64_t& low, double& position, int64_t size) {
    if (low < size - 1) return low + 1;
    low = size - 1;
    position = double(low);
    return low;
  };
  const int64_t bottom = clamp(top, y, height), right = clamp(left, x, width);
  const double down = y - double(top), across = x - double(left);
  const int64_t rows[] = {top, bottom}, columns[] = {left, right};
  const double row_weight[] = {1 - down, down}, column_weight[] = {1 - across, across};
  for (int i = 0; i < 4; ++i) {
    s.at[i] = rows[i / 2] * width + columns[i % 2];
    s.weight[i] = row_weight[i / 2] * column_weight[i % 2];
  }
  return s;
}

// Calls f(box, image, bin, number of samples in the bin, sample) for every sample of every bin.
template <class F>
void for_each_sample(const View& boxes, const RoiOptions& options, int64_t images, int64_t height,
                     int64_t width, int64_t bins_down, int64_t bins_across, const F& f) {
  const DenseInput<double> box(boxes);
  const double shift = options.aligned ? 0.5 : 0;
  for (int64_t k = 0; k < boxes.sizes[0]; ++k) {
    const double* b = box.data() + k * 5;
    const int64_t image = int64_t(b[0]);
    MT_CHECK_AS(index, image >= 0 && image < images, "roi_align: box ", k, " names image ", image, " of ",
                images);
    const double left = b[1] * options.scale - shift, top = b[2] * options.scale - shift;
    double wide = b[3] * options.scale - shift - left, high = b[4] * options.scale - shift - top;
    if (!options.aligned) wide = std::max(wide, 1.0), high = std::max(high, 1.0);
    const double step_y = high / double(bins_down), step_x = wide / double(bins_across);
    const auto samples_in = [&](double size) {
      if (options.samples > 0) return options.samples;
      return std::isfinite(size) && size > 0 ? int64_t(std::ceil(std::min(size, 1e6))) : int64_t(0);
    };
    const int64_t down = samples_in(step_y), across = samples_in(step_x);
    for (int64_t bin = 0; bin < bins_down * bins_across; ++bin) {
      const int64_t row = bin / bins_across, column = bin % bins_across;
      for (int64_t i = 0; i < down * across; ++i) {
        const double y = top + double(row) * step_y + (double(i / across) + 0.5) * step_y / double(down);
        const double x =
            left + double(column) * step_x + (double(i % across) + 0.5) * step_x / double(across);
        f(k, image, bin, std::max<int64_t>(down * across, 1), sample_at(y, x, height, width));
      }
    }
  }
}

}  // namespace

void roi_align(const View& images, const View& boxes, const RoiOptions& options, const View& out) {
  const int64_t channels = images.sizes[1], plane = images.sizes[2] * images.sizes[3],
                bins = out.sizes[2] * out.sizes[3];
  with_compute_type(images.dtype, "roi_align", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> x(images);
    const DenseOutput<C> y(out);
    y.fill(options.maximum ? -std::numeric_limits<C>::infinity() : C(0));
    for_each_sample(boxes, options, images.sizes[0], images.sizes[2], images.sizes[3], out.sizes[2],
                    out.sizes[3], [&](int64_t k, int64_t image, int64_t bin, int64_t count, const Sample& s) {
                      for (int64_t c = 0; c < channels; ++c) {
                        const C* from = x.data() + (image * channels + c) * plane;
                        double value = 0;
                        for (int i = 0; i < 4; ++i) value += s.weight[i] * double(from[s.at[i]]);
                        C& to = y[(k * channels + c) * bins + bin];
                        to = options.maximum ? std::max(to, C(value)) : to + C(value / double(count));
                      }
                    });
    // A bin without samples has no largest one.
    for (int64_t i = 0; options.maximum && i < y.numel(); ++i)
      if (y[i] == -std::numeric_limits<C>::infinity()) y[i] = 0;
    y.store();
  });
}

void roi_align_backward(const View& grad, const View& boxes, const RoiOptions& options,
                        const View& grad_images) {
  const int64_t channels = grad_images.sizes[1], plane = grad_images.sizes[2] * grad_images.sizes[3],
                bins = grad.sizes[2] * grad.sizes[3];
  with_compute_type(grad.dtype, "roi_align_backward", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> dy(grad);
    const DenseOutput<C> dx(grad_images);
    dx.fill(0);
    for_each_sample(boxes, options, grad_images.sizes[0], grad_images.sizes[2], grad_images.sizes[3],
                    grad.sizes[2], grad.sizes[3],
                    [&](int64_t k, int64_t image, int64_t bin, int64_t count, const Sample& s) {
                      for (int64_t c = 0; c < channels; ++c) {
                        C* to = dx.data() + (image * channels + c) * plane;
                        const double slope = double(dy[(k * channels + c) * bins + bin]) / double(count);
                        for (int i = 0; i < 4; ++i) to[s.at[i]] += C(s.weight[i] * slope);
                      }
                    });
    dx.store();
  });
}

}  // namespace mt::kernels
