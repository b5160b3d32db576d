// Products of a few rows with a matrix whose columns lie along memory: a layer's weight, for a few words or samples.
//
// Note [Few rows]
// Every sum is along memory in both factors, so nothing is packed: sums of a few rows and a few columns are under way
// together, in lanes, and the matrix is read once for all rows of a group. A sum is the same in whichever group it is.
#pragma once

#include <algorithm>

#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"
#include "kernels/matmul/gemm.h"

namespace mt::kernels {

inline constexpr int kColumnsTogether = 4;

// sums[i][j] += x[i] . w[j] of n elements each.
template <class T, int kBytes, int kRows, int kColumns>
struct DotTile {
  typedef T Lanes __attribute__((vector_size(kBytes)));
  static constexpr int64_t kLanes = kBytes / int64_t(sizeof(T));
  [[gnu::always_inline]] static inline void run(const T* x, int64_t x_stride, const T* w, int64_t w_stride,
                                                int64_t n, T (*sums)[kColumnsTogether]) {
    Lanes partial[kRows][kColumns] = {};
    int64_t p = 0;
    for (; p + kLanes <= n; p += kLanes) {
      Lanes row[kRows], column;
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) __builtin_memcpy(&row[i], x + i * x_stride + p, sizeof(Lanes));
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) {
        __builtin_memcpy(&column, w + j * w_stride + p, sizeof(Lanes));
#pragma GCC unroll 4
        for (int i = 0; i < kRows; ++i) partial[i][j] += row[i] * column;
      }
    }
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j) {
        T lanes[kLanes], rest = 0;
        __builtin_memcpy(lanes, &partial[i][j], sizeof(lanes));
        for (int64_t q = p; q < n; ++q) rest += x[i * x_stride + q] * w[j * w_stride + q];
        sums[i][j] += sum_of_lanes<int(kLanes)>(lanes) + rest;
      }
  }
};

template <class T>
class FewRows {
 public:
  static bool fits(int64_t m, int64_t n, int64_t k, const Factor& a, const Factor& b) {
    constexpr int64_t least = 64;  // columns and elements of each
    const bool plain = a.dtype == dtype_of<T> && b.dtype == dtype_of<T>;
    return plain && m > 1 && m <= kMost && n >= least && k >= least && a.column_stride == 1 &&
           b.row_stride == 1;
  }

  static void run(int64_t m, int64_t n, int64_t k, T alpha, Factor a, Factor b, T beta, Result<T> c) {
    constexpr int64_t work = int64_t(1) << 18;  // multiplications worth waking a thread for
    parallel_for(0, n, std::max<int64_t>(16, work / (m * k)), [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; j += kColumnsTogether) {
        const int64_t columns = std::min<int64_t>(kColumnsTogether, end - j);
        const int64_t groups = (m + most_rows() - 1) / most_rows();
        for (int64_t g = 0; g < groups; ++g) {
          const int64_t i = g * m / groups, rows = (g + 1) * m / groups - i;
          T sums[kRowsTogether][kColumnsTogether] = {};
          for (int64_t p = 0; p < k; p += kSlice)
            add(rows, columns, a.template at<T>(i, p), a.row_stride, b.template at<T>(p, j), b.column_stride,
                std::min(kSlice, k - p), sums);
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t q = 0; q < columns; ++q) {
              T& to = *c.at(i + r, j + q);
              to = beta == T(0) ? alpha * sums[r][q] : alpha * sums[r][q] + beta * to;
            }
        }
      }
    });
  }

 private:
  static constexpr int64_t kMost = 8, kSlice = 4096;  // of a sum in one chain for each lane
  static constexpr int kRowsTogether = 4;
  // AVX2 has registers for twelve sums.
  static int64_t most_rows() { return kHasLevels && cpu_level < 2 ? 3 : kRowsTogether; }

  static void add(int64_t rows, int64_t columns, const T* x, int64_t x_stride, const T* w, int64_t w_stride,
                  int64_t n, T (*sums)[kColumnsTogether]) {
    const auto with_rows = [&]<int kRows>() {
      if (columns == kColumnsTogether)
        return add_tile<kRows, kColumnsTogether>(x, x_stride, w, w_stride, n, sums);
      for (int64_t j = 0; j < columns; ++j) {
        T column[kRowsTogether][kColumnsTogether] = {};
        add_tile<kRows, 1>(x, x_stride, w + j * w_stride, w_stride, n, column);
        for (int i = 0; i < kRows; ++i) sums[i][j] += column[i][0];
      }
    };
    if (rows == 4) with_rows.template operator()<4>();
    else if (rows == 3) with_rows.template operator()<3>();
    else if (rows == 2) with_rows.template operator()<2>();
    else with_rows.template operator()<1>();
  }
  template <int kRows, int kColumns>
  static void add_tile(const T* x, int64_t x_stride, const T* w, int64_t w_stride, int64_t n,
                       T (*sums)[kColumnsTogether]) {
    if constexpr (kHasLevels) {
      if (cpu_level == 2)
        return AtLevels<DotTile<T, 64, kRows, kColumns>>::widest(x, x_stride, w, w_stride, n, sums);
      if (cpu_level == 1)
        return AtLevels<DotTile<T, 32, kRows, kColumns>>::wide(x, x_stride, w, w_stride, n, sums);
    }
    AtLevels<DotTile<T, 16, kRows, kColumns>>::base(x, x_stride, w, w_stride, n, sums);
  }
};

}  // namespace mt::kernels
