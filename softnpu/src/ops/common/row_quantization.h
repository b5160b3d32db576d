// Rows of numbers brought to int8.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace softnpu::ops {

// NaN becomes 0, as on the card.
inline int8_t to_int8(float value) {
  return std::isnan(value) ? int8_t(0) : int8_t(std::clamp(std::nearbyint(value), -128.0f, 127.0f));
}

// A row with a scale of its own, which brings it back; `smooth` multiplies the columns before and may be null.
inline float quantise_row(const float* row, const float* smooth, int64_t width, int8_t* to) {
  float top = 0;
  for (int64_t i = 0; i < width; ++i) top = std::max(top, std::abs(row[i] * (smooth ? smooth[i] : 1)));
  const float step = top / 127;
  for (int64_t i = 0; i < width; ++i)
    to[i] = step == 0 ? int8_t(0) : to_int8(row[i] * (smooth ? smooth[i] : 1) / step);
  return step;
}

}  // namespace softnpu::ops
