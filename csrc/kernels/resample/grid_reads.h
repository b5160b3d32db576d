// Where an output of a grid reads along one dimension, for every device's loops.
#pragma once

#include <array>
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
Position<C> unnormalized(C coordinate, int64_t size, bool align_corners) {
  if (align_corners) return {(coordinate + 1) / 2 * C(size - 1), C(size - 1) / 2};
  return {((coordinate + 1) * C(size) - 1) / 2, C(size) / 2};
}

template <class C>
Position<C> clipped(Position<C> p, int64_t size) {
  if (!(p.at > 0)) return {0, 0};  // NaN too
  return p.at >= C(size - 1) ? Position<C>{C(size - 1), 0} : p;
}

template <class C>
Position<C> reflected(Position<C> p, int64_t size, bool align_corners) {
  const C low = align_corners ? C(0) : C(-0.5), span = align_corners ? C(size - 1) : C(size);
  if (span == 0) return {0, 0};
  C distance = p.at - low, speed = p.speed;
  if (distance < 0) distance = -distance, speed = -speed;
  const C extra = std::fmod(distance, span);
  const bool turned = std::fmod(std::floor(distance / span), C(2)) != 0;
  return turned ? Position<C>{span - extra + low, -speed} : Position<C>{extra + low, speed};
}

template <class C>
Position<C> padded(Position<C> p, int64_t size, GridOptions options) {
  if (options.padding == GridPadding::zeros) return p;
  if (options.padding == GridPadding::reflection) p = reflected(p, size, options.align_corners);
  return clipped(p, size);
}

// What is too far away to be an index is outside in any case.
template <class C>
int64_t to_index(C at) {
  const bool sane =
      at > C(std::numeric_limits<int32_t>::min()) && at < C(std::numeric_limits<int32_t>::max());
  return sane ? int64_t(at) : -100;
}

// The inputs that one output reads along one dimension; index -1 is outside, where the value is 0.
template <class C>
struct Reads {
  int count;
  std::array<int64_t, 4> index;
  std::array<C, 4> weight, slope;  // the weight's derivative by the grid's coordinate
};

// Keys' cubic kernel with a = -0.75, and its derivative.
template <class C>
C cubic(C x) {
  const C a = C(-0.75);
  x = std::fabs(x);
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}
template <class C>
C cubic_slope(C x) {
  const C a = C(-0.75), sign = x < 0 ? C(-1) : C(1);
  x = std::fabs(x);
  return sign * (x <= 1 ? (3 * (a + 2) * x - 2 * (a + 3)) * x : (3 * a * x - 10 * a) * x + 8 * a);
}

template <class C>
Reads<C> reads(C coordinate, int64_t size, GridOptions options) {
  const auto inside = [size](int64_t i) { return i >= 0 && i < size ? i : -1; };
  const Position<C> raw = unnormalized(coordinate, size, options.align_corners);
  if (options.mode == GridMode::cubic) {
    const C floor = std::floor(raw.at), part = raw.at - floor;
    Reads<C> r{4, {}, {}, {}};
    for (int k = 0; k < 4; ++k) {
      const C neighbour = padded(Position<C>{floor + C(k - 1), 1}, size, options).at;
      r.index[size_t(k)] = inside(to_index(neighbour));
      r.weight[size_t(k)] = cubic(part - C(k - 1));
      r.slope[size_t(k)] = cubic_slope(part - C(k - 1)) * raw.speed;
    }
    return r;
  }
  const Position<C> p = padded(raw, size, options);
  if (options.mode == GridMode::nearest) return {1, {inside(to_index(std::nearbyint(p.at)))}, {1}, {0}};
  const C floor = std::floor(p.at), part = p.at - floor;
  const int64_t low = to_index(floor);
  return {2, {inside(low), inside(low + 1)}, {1 - part, part}, {-p.speed, p.speed}};
}

}  // namespace mt::kernels
