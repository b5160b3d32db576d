// LU and Cholesky factors and triangular solves of matrices of any strides, in place.
//
// Note [Factors by halves]
// A matrix is cut into halves until a part is small; what joins the parts are products of matrices, which is where the
// time goes and which are fast. A triangle's small parts are solved for a few vectors of columns at a time, brought
// together, so that all strides cost the same, and for four rows at a time, so that what was solved is read once for
// four and no row waits for its own sum.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/common/arithmetic.h"
#include "kernels/common/levels.h"
#include "kernels/common/squares.h"
#include "kernels/linalg/batch.h"
#include "kernels/linalg/small_factors.h"
#include "kernels/matmul/matmul.h"

namespace mt::kernels::linalg {

// A part of a matrix.
template <class T> struct Block {
  T* data;
  int64_t rows, columns, row_stride, column_stride;

  Block(T* data, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride)
      : data(data), rows(rows), columns(columns), row_stride(row_stride), column_stride(column_stride) {}
  explicit Block(const View& view)
      : Block(view.as<T>(), view.sizes[0], view.sizes[1], view.strides[0], view.strides[1]) {}
  explicit Block(ColumnMajor<T>& matrix)
      : Block(matrix.data(), matrix.rows(), matrix.columns(), 1, matrix.leading()) {}

  T& at(int64_t i, int64_t j) const { return data[i * row_stride + j * column_stride]; }
  Block part(int64_t row, int64_t column, int64_t height, int64_t width) const {
    return {&at(row, column), height, width, row_stride, column_stride};
  }
  Block transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

template <class T, class F> void for_each_element(const Block<T>& a, const F& f) {
  const bool upright = std::abs(a.row_stride) < std::abs(a.column_stride);
  const Block<T> lines = upright ? a.transposed() : a;
  for (int64_t i = 0; i < lines.rows; ++i)
    for (int64_t j = 0; j < lines.columns; ++j) f(lines.at(i, j), upright ? j : i, upright ? i : j);
}
// to(i, j) = from(j, i), rows of both lying densely, in squares: a square's lines stay in the cache.
template <class T> void assign_turned(const T* from, int64_t from_row, T* to, int64_t to_row, int64_t rows,
                                      int64_t columns) {
  constexpr int64_t kSide = 16;
  for (int64_t row = 0; row < rows; row += kSide)
    for (int64_t column = 0; column < columns; column += kSide) {
      const int64_t height = std::min(kSide, rows - row), width = std::min(kSide, columns - column);
      turn_rectangle(from + column * from_row + row, from_row, to + row * to_row + column, to_row, height,
                     width);
    }
}
template <class T> void assign(const Block<T>& from, const Block<T>& to) {
  if (from.column_stride == 1 && to.column_stride == 1)
    for (int64_t i = 0; i < to.rows; ++i) std::copy_n(&from.at(i, 0), to.columns, &to.at(i, 0));
  else if (from.row_stride == 1 && to.row_stride == 1)
    for (int64_t j = 0; j < to.columns; ++j) std::copy_n(&from.at(0, j), to.rows, &to.at(0, j));
  else if (from.row_stride == 1 && to.column_stride == 1)
    assign_turned(from.data, from.column_stride, to.data, to.row_stride, to.rows, to.columns);
  else if (from.column_stride == 1 && to.row_stride == 1)
    assign_turned(from.data, from.row_stride, to.data, to.column_stride, to.columns, to.rows);
  else for_each_element(to, [&](T& x, int64_t i, int64_t j) { x = from.at(i, j); });
}
template <class T> void set_identity(const Block<T>& a) {
  for_each_element(a, [](T& x, int64_t i, int64_t j) { x = i == j ? T(1) : T(0); });
}
template <class T> void conjugate(const Block<T>& a) {
  if constexpr (is_complex_v<T>) for_each_element(a, [](T& x, int64_t, int64_t) { x = std::conj(x); });
}

// c = alpha * a @ b + beta * c
template <class T> void add_product(const Block<T>& c, const Block<T>& a, const Block<T>& b, double alpha,
                                    double beta) {
  int64_t sizes[3][2], strides[3][2];
  const auto view = [&](const Block<T>& block, int which) {
    sizes[which][0] = block.rows, sizes[which][1] = block.columns;
    strides[which][0] = block.row_stride, strides[which][1] = block.column_stride;
    return View{block.data, sizes[which], strides[which], 2, dtype_of<T>};
  };
  gemm(view(a, 0), view(b, 1), view(c, 2), Scalar(alpha), Scalar(beta));
}
template <class T> void subtract_product(const Block<T>& c, const Block<T>& a, const Block<T>& b,
                                         double beta = 1) {
  add_product(c, a, b, -1, beta);
}

inline constexpr int64_t kTriangle = 64;  // rows of a small part
inline constexpr int64_t kFew = 8;        // rows and columns that are solved one by one
inline constexpr int64_t kPanel = 16;     // columns of a small part that is factored

template <class T> inline constexpr int kRowsAtOnce = is_complex_v<T> ? 2 : 4;
template <class T> int64_t whole_rows(int64_t n) {
  return (n + kRowsAtOnce<T> - 1) / kRowsAtOnce<T> * kRowsAtOnce<T>;
}

// Columns side by side in vectors of kBytes; the imaginary parts of complex ones in vectors of their own behind the real ones.
template <class T, int kBytes, int kVectors> struct Lanes {
  using R = lapack::real_t<T>;
  typedef R Vector __attribute__((vector_size(kBytes)));
  static constexpr int64_t kPerVector = kBytes / int64_t(sizeof(R)), kColumns = kVectors * kPerVector;
  static constexpr int kParts = is_complex_v<T> ? 2 : 1;
  alignas(64) Vector values[kTriangle][kParts][kVectors];

  // Rows beyond those of x are of no use, and what memory happens to have in lanes without a column may be slow to multiply.
  void load(const Block<T>& x, int64_t rows) {
    if (x.columns < kColumns || x.rows < rows) std::memset(values, 0, size_t(rows) * sizeof(values[0]));
    if constexpr (kParts == 1) assign(x, here(x));
    else
      for_each_element(x, [&](T& value, int64_t i, int64_t j) {
        at(i, 0, j) = value.real();
        at(i, 1, j) = value.imag();
      });
  }
  void store(const Block<T>& x) {
    if constexpr (kParts == 1) assign(here(x), x);
    else for_each_element(x, [&](T& value, int64_t i, int64_t j) { value = {at(i, 0, j), at(i, 1, j)}; });
  }

 private:
  R& at(int64_t i, int part, int64_t j) { return reinterpret_cast<R*>(values[i][part])[j]; }
  Block<R> here(const Block<T>& x) { return {&at(0, 0, 0), x.rows, x.columns, kColumns, 1}; }
};

// x := a^-1 x of whole rows, the diagonal of a being inverted.
template <class T, int kBytes, int kVectors> struct SmallTriangle {
  using X = Lanes<T, kBytes, kVectors>;
  using Row = typename X::Vector[X::kParts][kVectors];
  static constexpr int kRows = kRowsAtOnce<T>;

  [[gnu::always_inline]] static inline void run(const T* a, X* lanes, int64_t n) {
    for (int64_t i = 0; i < n; i += kRows) {
      const T* factors = a + i * kTriangle;
      Row* x = lanes->values + i;
      Row sums[kRows];
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) copy(sums[r], x[r]);
      for (int64_t j = 0; j < i; ++j)
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) subtract(sums[r], factors[r * kTriangle + j], lanes->values[j]);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int j = 0; j < r; ++j) subtract(sums[r], factors[r * kTriangle + i + j], sums[j]);
        Row solved = {};
        subtract(solved, -factors[r * kTriangle + i + r], sums[r]);
        copy(sums[r], solved);
        copy(x[r], solved);
      }
    }
  }

 private:
  [[gnu::always_inline]] static inline void copy(Row& to, const Row& from) {
    for (int part = 0; part < X::kParts; ++part)
      for (int v = 0; v < kVectors; ++v) to[part][v] = from[part][v];
  }
  [[gnu::always_inline]] static inline void subtract(Row& to, T factor, const Row& from) {
    for (int v = 0; v < kVectors; ++v) {
      to[0][v] -= std::real(factor) * from[0][v];
      if constexpr (X::kParts == 2) {
        to[0][v] += std::imag(factor) * from[1][v];
        to[1][v] -= std::real(factor) * from[1][v] + std::imag(factor) * from[0][v];
      }
    }
  }
};

template <class T, int kBytes, int kVectors>
void solve_in_lanes(const T* triangle, const Block<T>& x) {
  using Small = SmallTriangle<T, kBytes, kVectors>;
  using X = Lanes<T, kBytes, kVectors>;
  X lanes;
  const int64_t rows = whole_rows<T>(x.rows);
  for (int64_t first = 0; first < x.columns; first += X::kColumns) {
    const Block<T> some = x.part(0, first, x.rows, std::min(X::kColumns, x.columns - first));
    lanes.load(some, rows);
    at_level<Small, const T*, X*>(triangle, &lanes, rows);
    lanes.store(some);
  }
}
// With vectors as wide as the machine's, of as many columns as there are registers for.
template <class T> void solve_in_lanes(const T* triangle, const Block<T>& x) {
  const auto with = [&]<int kBytes, int kVectors>() {
    if (x.columns <= Lanes<T, kBytes, 1>::kColumns) solve_in_lanes<T, kBytes, 1>(triangle, x);
    else solve_in_lanes<T, kBytes, kVectors>(triangle, x);
  };
  if constexpr (kHasLevels) {
    if (cpu_level == 2) return with.template operator()<64, 4>();
    if (cpu_level == 1) return with.template operator()<32, 2>();
  }
  with.template operator()<16, kHasLevels ? 2 : 4>();
}

// x := a^-1 x of so few elements that bringing them into lanes would take longer.
template <class T> void substitute(const Block<T>& a, const Block<T>& x, bool upper, bool unit) {
  const int64_t n = a.rows, first = upper ? n - 1 : 0, direction = upper ? -1 : 1;
  for (int64_t step = 0, i = first; step < n; ++step, i += direction) {
    const T inverse = unit ? T(1) : math::divide(T(1), a.at(i, i));
    for (int64_t c = 0; c < x.columns; ++c) {
      T value = x.at(i, c);
      for (int64_t j = first; j != i; j += direction) value -= product(a.at(i, j), x.at(j, c));
      x.at(i, c) = product(value, inverse);
    }
  }
}

// x := a^-1 x
template <class T> void solve_columns(const Block<T>& a, const Block<T>& x, bool upper, bool unit) {
  const int64_t n = a.rows;
  if (n <= kFew && x.columns <= kFew) return substitute(a, x, upper, unit);
  if (n <= kTriangle) {
    alignas(64) T triangle[kTriangle * kTriangle];
    std::fill_n(triangle + n * kTriangle, (whole_rows<T>(n) - n) * kTriangle, T(0));
    const int64_t last = n - 1;  // an upper triangle is a lower one from its far end
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < i; ++j)
        triangle[i * kTriangle + j] = upper ? a.at(last - i, last - j) : a.at(i, j);
      triangle[i * kTriangle + i] = unit ? T(1) : T(1) / (upper ? a.at(last - i, last - i) : a.at(i, i));
    }
    const Block<T> rows = upper ? Block<T>(&x.at(last, 0), n, x.columns, -x.row_stride, x.column_stride) : x;
    return solve_in_lanes(triangle, rows);
  }
  const int64_t half = (n / 2 + kPanel - 1) / kPanel * kPanel, rest = n - half;
  const Block<T> first = a.part(0, 0, half, half), second = a.part(half, half, rest, rest);
  const Block<T> above = x.part(0, 0, half, x.columns), below = x.part(half, 0, rest, x.columns);
  if (upper) {
    solve_columns(second, below, upper, unit);
    subtract_product(above, a.part(0, half, half, rest), below);
    solve_columns(first, above, upper, unit);
  } else {
    solve_columns(first, above, upper, unit);
    subtract_product(below, a.part(half, 0, rest, half), above);
    solve_columns(second, below, upper, unit);
  }
}

// The same, columns over threads.
template <class T> void solve_triangle(const Block<T>& a, const Block<T>& x, bool upper, bool unit) {
  if (a.rows == 0 || x.columns == 0) return;
  constexpr int64_t work = int64_t(1) << 21;  // worth waking a thread for
  parallel_for(0, x.columns, std::max<int64_t>(16, work / (a.rows * a.rows)),
               [&](int64_t begin, int64_t end) {
                 solve_columns(a, x.part(0, begin, x.rows, end - begin), upper, unit);
               });
}

// out := a^-1 of a lower triangle; nothing is spent on the zeros of the result.
template <class T> void invert_lower(const Block<T>& a, const Block<T>& out, bool unit) {
  const int64_t n = a.rows;
  if (n <= kTriangle) {
    set_identity(out);
    return solve_triangle(a, out, false, unit);
  }
  const int64_t half = (n / 2 + kPanel - 1) / kPanel * kPanel, rest = n - half;
  const Block<T> above = out.part(0, 0, half, half), below = out.part(half, 0, rest, half);
  const Block<T> second = a.part(half, half, rest, rest);
  invert_lower(a.part(0, 0, half, half), above, unit);
  invert_lower(second, out.part(half, half, rest, rest), unit);
  for_each_element(out.part(0, half, half, rest), [](T& x, int64_t, int64_t) { x = T(0); });
  subtract_product(below, a.part(half, 0, rest, half), above, 0);
  solve_triangle(second, below, false, unit);
}

// LAPACK's row exchanges begin … end - 1, forth or back, columns over threads.
template <class T>
void exchange_rows(const Block<T>& a, const int* pivots, int64_t begin, int64_t end, bool back = false) {
  const auto each = [=](const auto& f) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t k = back ? begin + end - 1 - i : i, other = pivots[k] - 1;
      if (other != k) f(k, other);
    }
  };
  const int64_t grain = std::max<int64_t>(16, kGrain / std::max<int64_t>(1, end - begin));
  parallel_for(0, a.columns, grain, [&](int64_t first, int64_t last) {
    if (a.column_stride == 1) {
      each([&](int64_t k, int64_t other) {
        std::swap_ranges(&a.at(k, first), &a.at(k, first) + (last - first), &a.at(other, first));
      });
    } else {  // a column stays in the cache for all exchanges
      for (int64_t j = first; j < last; ++j)
        each([&](int64_t k, int64_t other) { std::swap(a.at(k, j), a.at(other, j)); });
    }
  });
}

// to := the LU factors of `from`, which has few rows or columns. Returns LAPACK's info.
template <class T> int factor_panel(const Block<T>& from, const Block<T>& to, int* pivots) {
  int info = 0;
  if (from.rows == from.columns && from.rows <= 4) {
    const auto with = [&]<int kSize>() {
      T a[kSize * kSize];
      for (int i = 0; i < kSize; ++i)
        for (int j = 0; j < kSize; ++j) a[i + j * kSize] = from.at(i, j);
      SmallLu<T>::run(kSize, kSize, a, kSize, pivots, &info);
      for (int i = 0; i < kSize; ++i)
        for (int j = 0; j < kSize; ++j) to.at(i, j) = a[i + j * kSize];
    };
    if (from.rows == 4) with.template operator()<4>();
    else if (from.rows == 3) with.template operator()<3>();
    else if (from.rows == 2) with.template operator()<2>();
    else with.template operator()<1>();
    return info;
  }
  ColumnMajor<T> panel(from.rows, from.columns, Unset{});
  assign(from, Block<T>(panel));
  at_level<SmallLu<T>, int64_t, int64_t, T*, int64_t, int*, int*>(from.rows, from.columns, panel.data(),
                                                                  panel.leading(), pivots, &info);
  assign(Block<T>(panel), to);
  return info;
}

// a := its LU factors. Returns LAPACK's info.
template <class T> int factor_lu(const Block<T>& a, int* pivots) {
  const int64_t count = std::min(a.rows, a.columns);
  if (count == 0) return 0;
  if (count <= kPanel) return factor_panel(a, a, pivots);
  const int64_t half = (count / 2 + kPanel - 1) / kPanel * kPanel;
  const Block<T> left = a.part(0, 0, a.rows, half), right = a.part(0, half, a.rows, a.columns - half);
  const Block<T> above = right.part(0, 0, half, right.columns);
  const Block<T> below = right.part(half, 0, a.rows - half, right.columns);
  const int info = factor_lu(left, pivots);
  exchange_rows(right, pivots, 0, half);
  solve_triangle(a.part(0, 0, half, half), above, false, true);
  subtract_product(below, left.part(half, 0, below.rows, half), above);
  const int later = factor_lu(below, pivots + half);
  for (int64_t k = half; k < count; ++k) pivots[k] += int(half);
  exchange_rows(left, pivots, half, count);
  return info ? info : later ? later + int(half) : 0;
}

// to := the LU factors of `from`.
template <class T> int factor_lu(const Block<T>& from, const Block<T>& to, int* pivots) {
  const int64_t count = std::min(from.rows, from.columns);
  if (count > 0 && count <= kPanel) return factor_panel(from, to, pivots);
  assign(from, to);
  return factor_lu(to, pivots);
}

// The lower triangle of c minus that of a @ b; what else of c is written is of no use.
template <class T> void subtract_lower(const Block<T>& c, const Block<T>& a, const Block<T>& b) {
  const int64_t n = c.rows, half = n / 2, rest = n - half;
  if (n <= 4 * kPanel) return subtract_product(c, a, b);
  const Block<T> below = a.part(half, 0, rest, a.columns);
  subtract_lower(c.part(0, 0, half, half), a.part(0, 0, half, a.columns), b.part(0, 0, b.rows, half));
  subtract_product(c.part(half, 0, rest, half), below, b.part(0, 0, b.rows, half));
  subtract_lower(c.part(half, half, rest, rest), below, b.part(0, half, b.rows, rest));
}

// The lower triangle of a := its Cholesky factor. Returns LAPACK's info.
template <class T> int factor_cholesky(const Block<T>& a) {
  const int64_t n = a.rows;
  if (n <= kPanel) {
    ColumnMajor<T> panel(n, n, Unset{});
    assign(a, Block<T>(panel));
    int info;
    at_level<SmallCholesky<T>, int64_t, T*, int64_t, int*>(n, panel.data(), panel.leading(), &info);
    assign(Block<T>(panel), a);
    return info;
  }
  const int64_t half = (n / 2 + kPanel - 1) / kPanel * kPanel, rest = n - half;
  const Block<T> first = a.part(0, 0, half, half), below = a.part(half, 0, rest, half);
  if (const int info = factor_cholesky(first)) return info;
  // X first^H = below is first conj(X)^T = conj(below)^T.
  conjugate(below);
  solve_triangle(first, below.transposed(), false, false);
  ColumnMajor<T> kept(is_complex_v<T> ? rest : 0, is_complex_v<T> ? half : 0, Unset{});
  if constexpr (is_complex_v<T>) assign(below, Block<T>(kept));
  conjugate(below);
  const Block<T> last = a.part(half, half, rest, rest);
  subtract_lower(last, below, (is_complex_v<T> ? Block<T>(kept) : below).transposed());
  const int info = factor_cholesky(last);
  return info ? info + int(half) : 0;
}

}  // namespace mt::kernels::linalg
