// Small squares of numbers, turned round in registers: what transposes are made of.
#pragma once

#include <cstdint>
#include <type_traits>

namespace mt::kernels {

// Sixteen bytes: every machine level has these, and transposes are bound by memory rather than by arithmetic.
template <class T>
struct Square;
template <>
struct Square<float> {
  static constexpr int64_t side = 4;
  typedef float V __attribute__((vector_size(16)));
  typedef float U __attribute__((vector_size(16), aligned(4), may_alias));
  typedef int32_t I __attribute__((vector_size(16)));
  // Row r of the square is row(r); of the one turned round, put(r, value) is given each.
  template <class Row, class Put>
  [[gnu::always_inline]] static void turn(Row row, Put put) {
    const V a = row(0), b = row(1), c = row(2), d = row(3);
    const V ab_low = __builtin_shuffle(a, b, I{0, 4, 1, 5}), ab_high = __builtin_shuffle(a, b, I{2, 6, 3, 7});
    const V cd_low = __builtin_shuffle(c, d, I{0, 4, 1, 5}), cd_high = __builtin_shuffle(c, d, I{2, 6, 3, 7});
    put(0, V(__builtin_shuffle(ab_low, cd_low, I{0, 1, 4, 5})));
    put(1, V(__builtin_shuffle(ab_low, cd_low, I{2, 3, 6, 7})));
    put(2, V(__builtin_shuffle(ab_high, cd_high, I{0, 1, 4, 5})));
    put(3, V(__builtin_shuffle(ab_high, cd_high, I{2, 3, 6, 7})));
  }
};
template <>
struct Square<double> {
  static constexpr int64_t side = 2;
  typedef double V __attribute__((vector_size(16)));
  typedef double U __attribute__((vector_size(16), aligned(8), may_alias));
  typedef int64_t I __attribute__((vector_size(16)));
  template <class Row, class Put>
  [[gnu::always_inline]] static void turn(Row row, Put put) {
    const V a = row(0), b = row(1);
    put(0, V(__builtin_shuffle(a, b, I{0, 2})));
    put(1, V(__builtin_shuffle(a, b, I{1, 3})));
  }
};

template <class T>
[[gnu::always_inline]] inline typename Square<T>::V load_row(const T* from) {
  return *reinterpret_cast<const typename Square<T>::U*>(from);
}
template <class T>
[[gnu::always_inline]] inline void store_row(T* to, typename Square<T>::V value) {
  *reinterpret_cast<typename Square<T>::U*>(to) = value;
}
// Squares whose rows lie evenly spaced.
template <class T>
[[gnu::always_inline]] inline void turn_square(const T* from, int64_t from_row, T* to, int64_t to_row) {
  Square<T>::turn([=](int64_t r) { return load_row(from + r * from_row); },
                  [=](int64_t r, typename Square<T>::V value) { store_row(to + r * to_row, value); });
}
// to[i * to_row + j] = from[j * from_row + i] for i < rows, j < columns: in squares where there are some of T.
template <class T>
[[gnu::always_inline]] inline void turn_rectangle(const T* from, int64_t from_row, T* to, int64_t to_row,
                                                  int64_t rows, int64_t columns) {
  int64_t turned_rows = 0, turned_columns = 0;
  if constexpr (std::is_floating_point_v<T>) {
    constexpr int64_t side = Square<T>::side;
    turned_rows = rows / side * side, turned_columns = columns / side * side;
    for (int64_t i = 0; i < turned_rows; i += side)
      for (int64_t j = 0; j < turned_columns; j += side)
        turn_square(from + j * from_row + i, from_row, to + i * to_row + j, to_row);
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = i < turned_rows ? turned_columns : 0; j < columns; ++j)
      to[i * to_row + j] = from[j * from_row + i];
}

}  // namespace mt::kernels
