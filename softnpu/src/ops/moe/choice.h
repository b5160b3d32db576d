// Numbers in the order in which experts are chosen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace softnpu::ops {

// The places of the `count` largest numbers, the largest first; of equal ones the first. NaN counts as the largest.
inline std::vector<int64_t> largest(const float* values, int64_t size, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  const auto before = [values](int64_t a, int64_t b) {
    const bool a_nan = values[a] != values[a], b_nan = values[b] != values[b];
    if (a_nan != b_nan) return a_nan;
    if (!a_nan && values[a] != values[b]) return values[a] > values[b];
    return a < b;
  };
  std::partial_sort(order.begin(), order.begin() + count, order.end(), before);
  order.resize(static_cast<size_t>(count));
  return order;
}

// The places of numbers from the smallest to the largest; equal ones stay in their order.
template <class Number>
std::vector<int64_t> sorted_places(const Number* values, int64_t size) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [values](int64_t a, int64_t b) { return values[a] < values[b]; });
  return order;
}

}  // namespace softnpu::ops
