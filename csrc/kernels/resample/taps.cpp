// Which inputs each output reads, and with which weight.
#include <algorithm>
#include <cmath>

#include "kernels/resample/resample.h"

namespace mt::kernels {
namespace {

// The distance between two outputs, in inputs.
template <class F>
F step_of(int64_t in, int64_t out, bool align_corners, double scale) {
  if (align_corners) return out > 1 ? F(in - 1) / F(out - 1) : F(0);
  return scale > 0 ? F(1.0 / scale) : F(in) / F(out);
}

// Keys' cubic convolution with parameter a.
double cubic_weight(double distance, double a) {
  const double x = std::fabs(distance);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

template <class F>
int64_t nearest_input(int64_t o, F step, bool centred, int64_t in) {
  const F position = centred ? (F(o) + F(0.5)) * step : F(o) * step;
  return std::min(int64_t(std::floor(position)), in - 1);
}

void fill_nearest(Taps& taps, double scale, bool centred, bool single) {
  for (int64_t o = 0; o < taps.out; ++o) {
    taps.first[size_t(o)] =
        single ? nearest_input(o, step_of<float>(taps.in, taps.out, false, scale), centred, taps.in)
               : nearest_input(o, step_of<double>(taps.in, taps.out, false, scale), centred, taps.in);
    taps.count[size_t(o)] = 1;
    taps.weights[size_t(o)] = 1;
  }
}

template <class F>
void fill_linear(Taps& taps, bool align_corners, double scale) {
  const F step = step_of<F>(taps.in, taps.out, align_corners, scale);
  for (int64_t o = 0; o < taps.out; ++o) {
    const F position = align_corners ? step * F(o) : std::max(step * (F(o) + F(0.5)) - F(0.5), F(0));
    const int64_t low = std::min(int64_t(position), taps.in - 1);
    const double part = std::clamp(double(position - F(low)), 0.0, 1.0);
    taps.first[size_t(o)] = low;
    taps.count[size_t(o)] = low + 1 < taps.in ? 2 : 1;
    taps.weights[size_t(o * 2)] = low + 1 < taps.in ? 1 - part : 1;
    taps.weights[size_t(o * 2 + 1)] = part;
  }
}

// Inputs beyond the border repeat the border: their weights fall on it.
template <class F>
void fill_cubic(Taps& taps, bool align_corners, double scale) {
  const F step = step_of<F>(taps.in, taps.out, align_corners, scale);
  for (int64_t o = 0; o < taps.out; ++o) {
    const F position = align_corners ? step * F(o) : step * (F(o) + F(0.5)) - F(0.5);
    const int64_t centre = int64_t(std::floor(position));
    const double part = double(position - F(centre));
    const int64_t low = std::clamp<int64_t>(centre - 1, 0, taps.in - 1);
    const int64_t high = std::clamp<int64_t>(centre + 2, 0, taps.in - 1);
    taps.first[size_t(o)] = low;
    taps.count[size_t(o)] = high - low + 1;
    for (int64_t k = -1; k <= 2; ++k) {
      const int64_t at = std::clamp<int64_t>(centre + k, 0, taps.in - 1) - low;
      taps.weights[size_t(o * 4 + at)] += cubic_weight(double(k) - part, -0.75);
    }
  }
}

// The kernel is stretched over as many inputs as one output covers, which keeps high frequencies out.
Taps smoothed_taps(bool cubic, int64_t in, int64_t out, bool align_corners, double scale) {
  const double step = step_of<double>(in, out, align_corners, scale);
  const double stretch = std::max(step, 1.0), support = (cubic ? 2 : 1) * stretch;
  Taps taps(in, out, int64_t(std::ceil(support)) * 2 + 1);
  for (int64_t o = 0; o < out; ++o) {
    const double centre = step * (double(o) + 0.5);
    const int64_t low = std::clamp<int64_t>(int64_t(centre - support + 0.5), 0, in);
    const int64_t high = std::clamp<int64_t>(int64_t(centre + support + 0.5), low, in);
    const int64_t count = std::min(high - low, taps.width);
    double* weights = taps.weights.data() + o * taps.width;
    double total = 0;
    for (int64_t k = 0; k < count; ++k) {
      const double x = (double(k + low) - centre + 0.5) / stretch;
      weights[k] = cubic ? cubic_weight(x, -0.5) : std::max(0.0, 1 - std::fabs(x));
      total += weights[k];
    }
    for (int64_t k = 0; k < count && total != 0; ++k) weights[k] /= total;
    taps.first[size_t(o)] = std::min(low, in - 1);
    taps.count[size_t(o)] = count;
  }
  return taps;
}

}  // namespace

Taps::Taps(int64_t in, int64_t out, int64_t width)
    : in(in), out(out), width(width), first(size_t(out)), count(size_t(out)), weights(size_t(out * width)) {}

bool Taps::identity() const {
  if (in != out) return false;
  for (int64_t o = 0; o < out; ++o) {
    const double* w = weights.data() + o * width;
    for (int64_t k = 0; k < count[size_t(o)]; ++k) {
      if (w[k] != double(first[size_t(o)] + k == o)) return false;
    }
    if (count[size_t(o)] == 0) return false;
  }
  return true;
}

Taps window_taps(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding, bool count_padding,
                 int64_t divisor) {
  Taps taps(in, out, std::min(kernel, in));
  for (int64_t o = 0; o < out; ++o) {
    const int64_t start = o * stride - padding, end = std::min(start + kernel, in + padding);
    const int64_t low = std::max<int64_t>(start, 0), high = std::min(end, in);
    taps.first[size_t(o)] = std::min(low, in - 1);
    taps.count[size_t(o)] = std::max<int64_t>(high - low, 0);
    const int64_t inputs = count_padding ? end - start : high - low;
    const double weight = 1.0 / double(divisor != 0 ? divisor : inputs);
    for (int64_t k = 0; k < high - low; ++k) taps.weights[size_t(o * taps.width + k)] = weight;
  }
  return taps;
}

Taps adaptive_taps(int64_t in, int64_t out) {
  Taps taps(in, out, out == 0 ? 0 : in / out + 2);
  for (int64_t o = 0; o < out; ++o) {
    const int64_t low = o * in / out, high = ((o + 1) * in + out - 1) / out;
    taps.first[size_t(o)] = low;
    taps.count[size_t(o)] = high - low;
    for (int64_t k = 0; k < high - low; ++k)
      taps.weights[size_t(o * taps.width + k)] = 1.0 / double(high - low);
  }
  return taps;
}

Taps interpolation_taps(Interpolation mode, int64_t in, int64_t out, bool align_corners, double scale,
                        bool single) {
  const bool smoothed = mode == Interpolation::linear_smoothed || mode == Interpolation::cubic_smoothed;
  if (smoothed) return smoothed_taps(mode == Interpolation::cubic_smoothed, in, out, align_corners, scale);
  const bool linear = mode == Interpolation::linear, cubic = mode == Interpolation::cubic;
  Taps taps(in, out, cubic ? 4 : linear ? 2 : 1);
  if (linear && single) fill_linear<float>(taps, align_corners, scale);
  else if (linear) fill_linear<double>(taps, align_corners, scale);
  else if (cubic && single) fill_cubic<float>(taps, align_corners, scale);
  else if (cubic) fill_cubic<double>(taps, align_corners, scale);
  else fill_nearest(taps, scale, mode == Interpolation::nearest_exact, single);
  return taps;
}

}  // namespace mt::kernels
