// Distances between rows in the p-norm, and their gradients; float and double, dense.
//
// Launch (DistanceCall): block 256, any grid; elements of the result are strided over.
//   rows_apart<T, norm>: cdist, x1 [batch, rows, width] and x2 [batch, others, width] -> out [batch, rows, others].
//   rows_apart_backward<T, norm>: gradient and distances [batch, rows, others] -> out [batch, rows, width], of x1.
//   pairs_apart<T, norm>: pdist, x1 [rows, width] -> out [rows * (rows - 1) / 2], pairs i < j in order.
//   pairs_apart_backward<T, norm>: gradient and distances of the pairs -> out [rows, width].
#pragma once

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/calls.h"

namespace mt::cuda {

enum class Norm { zero, one, two, infinite, general };

template <Norm kNorm, class T> T distance_of(const T* a, const T* b, int64_t width, T p) {
  T sum = 0;
  for (int64_t k = 0; k < width; ++k) {
    const T size = std::fabs(a[k] - b[k]);
    if constexpr (kNorm == Norm::zero) sum += size != T(0) ? T(1) : T(0);
    else if constexpr (kNorm == Norm::one) sum += size;
    else if constexpr (kNorm == Norm::two) sum += size * size;
    else if constexpr (kNorm == Norm::infinite) sum = kernels::math::maximum(size, sum);
    else sum += std::pow(size, p);
  }
  if constexpr (kNorm == Norm::two) return std::sqrt(sum);
  else if constexpr (kNorm == Norm::general) return std::pow(sum, T(1) / p);
  else return sum;
}
// What a distance says about one of its differences.
template <Norm kNorm, class T> T distance_slope(T difference, T gradient, T distance, T p) {
  const T sign = T(difference > T(0)) - T(difference < T(0)), size = std::fabs(difference);
  if constexpr (kNorm == Norm::zero) return T(0);
  else if constexpr (kNorm == Norm::one) return gradient * sign;
  else if constexpr (kNorm == Norm::two) return distance == T(0) ? T(0) : gradient * difference / distance;
  else if constexpr (kNorm == Norm::infinite) return size == distance ? gradient * sign : T(0);
  else {
    if (distance == T(0) || (difference == T(0) && p < T(1))) return T(0);
    if (p < T(2)) return sign * std::pow(size, p - T(1)) * gradient / std::pow(distance, p - T(1));
    return difference * std::pow(size, p - T(2)) * gradient / std::pow(distance, p - T(1));
  }
}

template <class T, Norm kNorm> void rows_apart(const DistanceCall& call) {
  for (int64_t n = first_index(); n < call.batch * call.rows * call.others; n += grid_step()) {
    const int64_t other = n % call.others, row = n / call.others, batch = row / call.rows;
    static_cast<T*>(call.out)[n] = distance_of<kNorm>(
        static_cast<const T*>(call.x1) + row * call.width,
        static_cast<const T*>(call.x2) + (batch * call.others + other) * call.width, call.width, T(call.p));
  }
}
template <class T, Norm kNorm> void rows_apart_backward(const DistanceCall& call) {
  for (int64_t n = first_index(); n < call.batch * call.rows * call.width; n += grid_step()) {
    const int64_t k = n % call.width, row = n / call.width, batch = row / call.rows;
    const T x = static_cast<const T*>(call.x1)[n];
    T sum = 0;
    for (int64_t other = 0; other < call.others; ++other) {
      const T y = static_cast<const T*>(call.x2)[(batch * call.others + other) * call.width + k];
      const int64_t at = row * call.others + other;
      sum += distance_slope<kNorm>(x - y, static_cast<const T*>(call.gradient)[at],
                                   static_cast<const T*>(call.distances)[at], T(call.p));
    }
    static_cast<T*>(call.out)[n] = sum;
  }
}

// The place of the pair (i, j), i < j.
inline int64_t pair_place(int64_t rows, int64_t i, int64_t j) {
  return i * (2 * rows - i - 1) / 2 + j - i - 1;
}

template <class T, Norm kNorm> void pairs_apart(const DistanceCall& call) {
  const T* x = static_cast<const T*>(call.x1);
  for (int64_t n = first_index(); n < call.rows * (call.rows - 1) / 2; n += grid_step()) {
    int64_t low = 0, high = call.rows - 2;  // the last row whose pairs begin at or before n
    while (low < high) {
      const int64_t middle = (low + high + 1) / 2;
      if (pair_place(call.rows, middle, middle + 1) <= n) low = middle;
      else high = middle - 1;
    }
    const int64_t j = n - pair_place(call.rows, low, low + 1) + low + 1;
    static_cast<T*>(call.out)[n] =
        distance_of<kNorm>(x + low * call.width, x + j * call.width, call.width, T(call.p));
  }
}
template <class T, Norm kNorm> void pairs_apart_backward(const DistanceCall& call) {
  const T* x = static_cast<const T*>(call.x1);
  for (int64_t n = first_index(); n < call.rows * call.width; n += grid_step()) {
    const int64_t k = n % call.width, i = n / call.width;
    T sum = 0;
    for (int64_t j = 0; j < call.rows; ++j) {
      if (j == i) continue;
      const int64_t at = i < j ? pair_place(call.rows, i, j) : pair_place(call.rows, j, i);
      sum += distance_slope<kNorm>(x[n] - x[j * call.width + k], static_cast<const T*>(call.gradient)[at],
                                   static_cast<const T*>(call.distances)[at], T(call.p));
    }
    static_cast<T*>(call.out)[n] = sum;
  }
}

}  // namespace mt::cuda
