// Which inputs each output reads, and with which weight.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernels/resample/resample.h"

namespace mt::kernels {
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

Taps Taps::transposed() const {
  std::vector<int64_t> begin(size_t(in), out), end(size_t(in), 0);
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t k = 0; k < count[size_t(o)]; ++k) {
      const size_t i = size_t(first[size_t(o)] + k);
      begin[i] = std::min(begin[i], o);
      end[i] = o + 1;
    }
  }
  int64_t most = 1;
  for (size_t i = 0; i < size_t(in); ++i) most = std::max(most, end[i] - begin[i]);
  Taps turned(out, in, most);
  for (size_t i = 0; i < size_t(in); ++i) {
    turned.first[i] = end[i] > begin[i] ? begin[i] : 0;
    turned.count[i] = std::max<int64_t>(end[i] - begin[i], 0);
  }
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t k = 0; k < count[size_t(o)]; ++k) {
      const int64_t i = first[size_t(o)] + k;
      turned.weights[size_t(i * most + o - begin[size_t(i)])] += weights[size_t(o * width + k)];
    }
  }
  return turned;
}

void Taps::shorten() {
  const double largest = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
  int bits = 0;
  while (bits < 22 && largest * double(1 << (bits + 1)) + 0.5 < 0x1p15) ++bits;
  for (double& w : weights) w = std::round(w * double(1 << bits)) / double(1 << bits);
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
  int64_t most = 1;
  for (int64_t o = 0; o < out; ++o) most = std::max(most, ((o + 1) * in + out - 1) / out - o * in / out);
  Taps taps(in, out, most);
  for (int64_t o = 0; o < out; ++o) {
    const int64_t low = o * in / out, high = ((o + 1) * in + out - 1) / out;
    taps.first[size_t(o)] = low;
    taps.count[size_t(o)] = high - low;
    for (int64_t k = 0; k < high - low; ++k)
      taps.weights[size_t(o * taps.width + k)] = 1.0 / double(high - low);
  }
  return taps;
}

Interpolation interpolation_of(std::string_view mode) {
  using enum Interpolation;
  if (mode == "nearest") return nearest;
  if (mode == "nearest-exact") return nearest_exact;
  if (mode == "linear") return linear;
  if (mode == "cubic") return cubic;
  if (mode == "linear-aa") return linear_smoothed;
  MT_CHECK_AS(value, mode == "cubic-aa", "_interpolate: unknown mode ", mode);
  return cubic_smoothed;
}

Taps interpolation_taps(Interpolation mode, int64_t in, int64_t out, bool align_corners, double scale,
                        bool single) {
  const InterpolatedLine line{mode, in, out, scale, align_corners, single};
  Taps taps(in, out, line.width());
  for (int64_t o = 0; o < out; ++o)
    line.weigh(o, taps.first[size_t(o)], taps.count[size_t(o)], taps.weights.data() + o * taps.width);
  return taps;
}

}  // namespace mt::kernels
