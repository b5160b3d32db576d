// Where an output of a grid reads along one dimension, for every device's loops.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/resample/grid_sample.h"

namespace mt::kernels {

// A position and how fast it moves with the grid's coordinate.
template <class C>
struct Position {
  C at, speed;
};

template <class C>
[[gnu::always_inline]] inline Position<C> unnormalized(C coordinate, int64_t size, bool align_corners) {
  const C span = C(size - int64_t(align_corners)), shift = C(!align_corners);
  return {((coordinate + 1) * span - shift) / 2, span / 2};
}

template <class C>
[[gnu::always_inline]] inline Position<C> clipped(Position<C> p, int64_t size) {
  const C last = C(size - 1), above = p.at > 0 ? p.at : C(0);  // NaN is below
  const C speed = p.at > 0 ? p.speed : C(0);
  return {above < last ? above : last, above < last ? speed : C(0)};
}

template <class C>
[[gnu::always_inline]] inline Position<C> reflected(Position<C> p, int64_t size, bool align_corners) {
  const C low = C(-0.5) * C(!align_corners), span = C(size - int64_t(align_corners));
  const C from_low = p.at - low, distance = std::fabs(from_low);
  const C forth = distance - std::floor(distance / (2 * span)) * (2 * span);  // there and back again
  const C at = (forth > span ? 2 * span - forth : forth) + low;
  const C speed = from_low < 0 ? -p.speed : p.speed;
  return {at, forth > span ? -speed : speed};  // NaN where there is no span
}

template <class C>
[[gnu::always_inline]] inline Position<C> padded(Position<C> p, int64_t size, GridOptions options) {
  if (options.padding == GridPadding::zeros) return p;
  if (options.padding == GridPadding::reflection) p = reflected(p, size, options.align_corners);
  return clipped(p, size);
}

// What is too far away to be an index is outside in any case.
template <class C>
[[gnu::always_inline]] inline int32_t to_index(C at) {
  const C above = at > C(std::numeric_limits<int32_t>::min()) ? at : C(-100);  // NaN too
  return int32_t(above < C(1 << 30) ? above : C(-100));
}

// Keys' cubic kernel with a = -0.75, and its derivative.
template <class C>
[[gnu::always_inline]] inline C cubic(C x) {
  const C a = C(-0.75);
  x = std::fabs(x);
  const C near = ((a + 2) * x - (a + 3)) * x * x + 1, far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return x <= 1 ? near : far;
}
template <class C>
[[gnu::always_inline]] inline C cubic_slope(C x) {
  const C a = C(-0.75), size = std::fabs(x);
  const C near = (3 * (a + 2) * size - 2 * (a + 3)) * size, far = (3 * a * size - 10 * a) * size + 8 * a;
  return std::copysign(C(1), x) * (size <= 1 ? near : far);
}

// The inputs that one output reads along one dimension: put(k, index, weight, the weight's derivative by the grid's
// coordinate); index -1 is outside, where the value is 0.
inline constexpr int reads_of(GridMode mode) {
  return mode == GridMode::cubic ? 4 : mode == GridMode::linear ? 2 : 1;
}
template <class C, class Put>
[[gnu::always_inline]] inline void reads(C coordinate, int64_t size, GridOptions options, const Put& put) {
  const auto inside = [last = int32_t(size - 1)](int32_t i) {
    return uint32_t(i) <= uint32_t(last) ? i : -1;
  };
  const Position<C> raw = unnormalized(coordinate, size, options.align_corners);
  if (options.mode == GridMode::cubic) {
    const C floor = std::floor(raw.at), part = raw.at - floor;
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      const C neighbour = padded(Position<C>{floor + C(k - 1), 1}, size, options).at;
      put(k, inside(to_index(neighbour)), cubic(part - C(k - 1)), cubic_slope(part - C(k - 1)) * raw.speed);
    }
    return;
  }
  const Position<C> p = padded(raw, size, options);
  if (options.mode == GridMode::nearest) return put(0, inside(to_index(std::nearbyint(p.at))), C(1), C(0));
  const C floor = std::floor(p.at), part = p.at - floor;
  const int32_t low = to_index(floor);
  put(0, inside(low), 1 - part, -p.speed);
  put(1, inside(low + 1), part, p.speed);
}

}  // namespace mt::kernels
