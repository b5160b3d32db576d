// Which inputs each output of an interpolation reads along one dimension, and with which weight. Included by the host's
// compiler and by devices'.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace mt::kernels {

enum class Interpolation { nearest, nearest_exact, linear, cubic, linear_smoothed, cubic_smoothed };

// Keys' cubic convolution with parameter a.
inline double cubic_weight(double distance, double a) {
  const double x = std::fabs(distance);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// `scale` is the factor the user gave, 0 for none. `single`: positions are computed in float, which decides which
// neighbour is the nearest.
struct InterpolatedLine {
  Interpolation mode;
  int64_t in, out;
  double scale;
  bool align_corners, single;

  bool is_cubic() const { return mode == Interpolation::cubic || mode == Interpolation::cubic_smoothed; }
  bool is_smoothed() const { return mode >= Interpolation::linear_smoothed; }
  // The outputs are the inputs; found by the options alone.
  bool changes_nothing() const { return in == out && (align_corners || scale <= 0 || scale == 1); }
  // The most inputs that an output reads.
  int64_t width() const {
    if (is_smoothed()) return int64_t(std::ceil(support())) * 2 + 1;
    return is_cubic() ? 4 : mode == Interpolation::linear ? 2 : 1;
  }

  // Output o reads `count` inputs from `first` on; `weights` has room for width() of them.
  void weigh(int64_t o, int64_t& first, int64_t& count, double* weights) const {
    if (is_smoothed()) smoothed(o, first, count, weights);
    else if (is_cubic())
      single ? cubic<float>(o, first, count, weights) : cubic<double>(o, first, count, weights);
    else if (mode == Interpolation::linear)
      single ? linear<float>(o, first, count, weights) : linear<double>(o, first, count, weights);
    else single ? nearest<float>(o, first, count, weights) : nearest<double>(o, first, count, weights);
  }

 private:
  // The distance between two outputs, in inputs.
  template <class F>
  F step() const {
    if (align_corners) return out > 1 ? F(in - 1) / F(out - 1) : F(0);
    return scale > 0 ? F(1.0 / scale) : F(in) / F(out);
  }
  double stretch() const { return std::max(step<double>(), 1.0); }
  double support() const { return (is_cubic() ? 2 : 1) * stretch(); }
  int64_t inside(int64_t at) const { return std::min(std::max(at, int64_t(0)), in - 1); }

  template <class F>
  void nearest(int64_t o, int64_t& first, int64_t& count, double* weights) const {
    const bool centred = mode == Interpolation::nearest_exact;
    const F position = centred ? (F(o) + F(0.5)) * step<F>() : F(o) * step<F>();
    first = std::min(int64_t(std::floor(position)), in - 1);
    count = 1;
    weights[0] = 1;
  }
  template <class F>
  void linear(int64_t o, int64_t& first, int64_t& count, double* weights) const {
    const F position =
        align_corners ? step<F>() * F(o) : std::max(step<F>() * (F(o) + F(0.5)) - F(0.5), F(0));
    first = std::min(int64_t(position), in - 1);
    const double part = std::min(std::max(double(position - F(first)), 0.0), 1.0);
    count = first + 1 < in ? 2 : 1;
    weights[0] = first + 1 < in ? 1 - part : 1;
    weights[1] = part;
  }
  // Inputs beyond the border repeat the border: their weights fall on it.
  template <class F>
  void cubic(int64_t o, int64_t& first, int64_t& count, double* weights) const {
    const F position = align_corners ? step<F>() * F(o) : step<F>() * (F(o) + F(0.5)) - F(0.5);
    const int64_t centre = int64_t(std::floor(position));
    const double part = double(position - F(centre));
    first = inside(centre - 1);
    count = inside(centre + 2) - first + 1;
    for (int64_t k = 0; k < 4; ++k) weights[k] = 0;
    for (int64_t k = -1; k <= 2; ++k)
      weights[inside(centre + k) - first] += cubic_weight(double(k) - part, -0.75);
  }
  // The kernel is stretched over as many inputs as one output covers, which keeps high frequencies out.
  void smoothed(int64_t o, int64_t& first, int64_t& count, double* weights) const {
    const double centre = step<double>() * (double(o) + 0.5);
    const int64_t low = std::min(std::max(int64_t(centre - support() + 0.5), int64_t(0)), in);
    const int64_t high = std::min(std::max(int64_t(centre + support() + 0.5), low), in);
    count = std::min(high - low, width());
    double total = 0;
    for (int64_t k = 0; k < count; ++k) {
      const double x = (double(k + low) - centre + 0.5) / stretch();
      weights[k] = is_cubic() ? cubic_weight(x, -0.5) : std::max(0.0, 1 - std::fabs(x));
      total += weights[k];
    }
    for (int64_t k = 0; k < count && total != 0; ++k) weights[k] /= total;
    first = std::min(low, in - 1);
  }
};

}  // namespace mt::kernels
