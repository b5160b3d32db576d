// Products of matrices with a few columns: points of three coordinates, layers of a few features.
//
// Note [Narrow products]
// A row of the result is a vector or less, so a row is computed at a time, with the small matrix brought into lanes that are
// filled up with zeros. What a whole vector stores too much is overwritten by the row behind it; rows without one are
// stored element by element. Where the many rows are added up instead, in slices (Note [Sums in slices]), sums of four
// rows of the result stay in registers. Slices have one length, so that sums do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/matmul/gemm.h"

namespace mt::kernels {

inline constexpr int64_t kNarrowest = 16, kNarrowRows = 64;

// A row of the narrow matrix.
template <class T, int kBytes>
struct NarrowLanes {
  typedef T Lanes __attribute__((vector_size(kBytes)));
  static constexpr int64_t kLanes = kBytes / int64_t(sizeof(T));
};

// c[rows, n] = alpha * a[rows, k] @ b[k, lanes] + beta * c; rows of c lie one after the other, `whole` if whole vectors may
// be stored in all but the last.
template <class T, int kBytes>
struct NarrowRows : NarrowLanes<T, kBytes> {
  using typename NarrowLanes<T, kBytes>::Lanes;
  using NarrowLanes<T, kBytes>::kLanes;
  [[gnu::always_inline]] static inline void run(const T* a, int64_t row_stride, int64_t step, int64_t rows,
                                                int64_t n, int64_t k, const T* b, T alpha, T beta, T* c,
                                                int64_t c_stride, bool whole) {
    Lanes columns[kNarrowest];
    std::memcpy(columns, b, size_t(k) * sizeof(Lanes));
    // The old values of a row are read before the row in front of it is stored, which reaches no further.
    const bool adds = beta != T(0);
    const bool vector = whole && (!adds || 2 * n >= kLanes);
    const int64_t vectors = !vector ? 0 : n == kLanes ? rows : std::max<int64_t>(0, rows - kLanes);
    Lanes before = {};
    if (adds && vectors > 0) std::memcpy(&before, c, sizeof(before));
    for (int64_t i = 0; i < rows; ++i) {
      const T* x = a + i * row_stride;
      Lanes sum = columns[0] * x[0];
      for (int64_t p = 1; p < k; ++p) sum += columns[p] * x[p * step];
      sum *= alpha;
      T* to = c + i * c_stride;
      if (i < vectors) {
        if (adds) {
          sum += before * beta;
          if (i + 1 < vectors) std::memcpy(&before, to + n, sizeof(before));
          else if (i + 1 < rows) std::memcpy(&before, to + n, size_t(n) * sizeof(T));
        }
        std::memcpy(to, &sum, sizeof(sum));
        continue;
      }
      if (adds && i > 0 && i == vectors) {  // what the row in front has written over
        std::memcpy(to, &before, size_t(n) * sizeof(T));
      }
      T each[kLanes];
      std::memcpy(each, &sum, sizeof(sum));
      for (int64_t j = 0; j < n; ++j) to[j] = beta == T(0) ? each[j] : each[j] + beta * to[j];
    }
  }
};

// sums[4, lanes] of a[0 … count, 4 columns at `columns`] and b[0 … count, n].
template <class T, int kBytes>
struct NarrowSums : NarrowLanes<T, kBytes> {
  using typename NarrowLanes<T, kBytes>::Lanes;
  using NarrowLanes<T, kBytes>::kLanes;
  [[gnu::always_inline]] static inline void run(const T* a, int64_t a_stride, const int64_t* columns,
                                                const T* b, int64_t b_stride, int64_t n, int64_t count,
                                                T* sums) {
    Lanes total[4] = {};
    // A whole vector is read where there are rows behind it; there are more lanes than n in the sums, which nobody reads.
    const int64_t vectors = n == kLanes ? count : std::max<int64_t>(0, count - kLanes);
    const T *x0 = a + columns[0], *x1 = a + columns[1], *x2 = a + columns[2], *x3 = a + columns[3];
    for (int64_t p = 0; p < count; ++p) {
      Lanes row = {};
      if (p < vectors) std::memcpy(&row, b + p * b_stride, sizeof(row));
      else std::memcpy(&row, b + p * b_stride, size_t(n) * sizeof(T));
      total[0] += row * x0[p * a_stride];
      total[1] += row * x1[p * a_stride];
      total[2] += row * x2[p * a_stride];
      total[3] += row * x3[p * a_stride];
    }
    std::memcpy(sums, total, sizeof(total));
  }
};

template <class T>
class NarrowProduct {
 public:
  // Whether it is one: many rows of few columns times a few columns, or the transposed of that.
  static bool fits(int64_t m, int64_t n, int64_t k, const Result<T>& c) {
    return m >= kNarrowRows && n * int64_t(sizeof(T)) <= 64 && k <= kNarrowest && c.column_stride == 1;
  }
  static void run(int64_t m, int64_t n, int64_t k, T alpha, Factor a, Factor b, T beta, Result<T> c) {
    with_lanes(n, [&]<int kBytes>() {
      constexpr int64_t kLanes = kBytes / int64_t(sizeof(T));
      T rows[kNarrowest * kLanes] = {};
      for (int64_t p = 0; p < k; ++p)
        for (int64_t j = 0; j < n; ++j) rows[p * kLanes + j] = *b.template at<T>(p, j);
      parallel_for(0, m, std::max<int64_t>(1, kGrain / (kLanes * k)), [&](int64_t begin, int64_t end) {
        at_level<NarrowRows<T, kBytes>>(a.template at<T>(begin, 0), a.row_stride, a.column_stride,
                                        end - begin, n, k, static_cast<const T*>(rows), alpha, beta,
                                        c.at(begin, 0), c.row_stride, c.row_stride == n);
      });
    });
  }
  // Whether it adds up many rows: few columns of a times few of b, whose rows are dense.
  static bool sums(int64_t m, int64_t n, int64_t k, const Factor& b) {
    return k >= 4 * kNarrowRows && m <= kNarrowest && n * int64_t(sizeof(T)) <= 64 && b.column_stride == 1 &&
           b.row_stride == n;
  }
  static void run_sums(int64_t m, int64_t n, int64_t k, T alpha, Factor a, Factor b, T beta, Result<T> c) {
    constexpr int64_t kSlice = 512;
    with_lanes(n, [&]<int kBytes>() {
      constexpr int64_t kLanes = kBytes / int64_t(sizeof(T));
      const int64_t blocks = (m + 3) / 4, slices = (k + kSlice - 1) / kSlice, each = blocks * 4 * kLanes;
      std::vector<T> parts(size_t(slices * each));
      parallel_for(0, slices, std::max<int64_t>(1, kGrain / (kSlice * m)), [&](int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end; ++s)
          for (int64_t block = 0; block < blocks; ++block) {
            int64_t columns[4];  // the last block repeats its last one
            for (int64_t r = 0; r < 4; ++r) columns[r] = std::min(block * 4 + r, m - 1) * a.row_stride;
            at_level<NarrowSums<T, kBytes>>(
                a.template at<T>(0, s * kSlice), a.column_stride, static_cast<const int64_t*>(columns),
                b.template at<T>(s * kSlice, 0), b.row_stride, n, std::min(kSlice, k - s * kSlice),
                parts.data() + s * each + block * 4 * kLanes);
          }
      });
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          T sum = T(0);
          for (int64_t s = 0; s < slices; ++s) sum += parts[size_t(s * each + i * kLanes + j)];
          T& to = *c.at(i, j);
          to = beta == T(0) ? alpha * sum : alpha * sum + beta * to;
        }
    });
  }

 private:
  template <class F>
  static void with_lanes(int64_t n, const F& f) {
    const int64_t bytes = n * int64_t(sizeof(T));
    if (bytes <= 16) f.template operator()<16>();
    else if (bytes <= 32) f.template operator()<32>();
    else f.template operator()<64>();
  }
};

}  // namespace mt::kernels
