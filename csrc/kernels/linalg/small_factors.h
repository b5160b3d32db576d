// Factors of matrices with a few columns, column-major. Arguments, results and pivots are LAPACK's.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/common/arithmetic.h"
#include "kernels/linalg/batch.h"

namespace mt::kernels::linalg {

// What a pivot is chosen by.
template <class T> auto size_of(T x) {
  if constexpr (is_complex_v<T>) return std::abs(x.real()) + std::abs(x.imag());
  else return std::abs(x);
}
template <class T> T product(T a, T b) {
  if constexpr (is_complex_v<T>)
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  else return a * b;
}

template <class T> struct SmallLu {
  [[gnu::always_inline]] static inline void run(int64_t m, int64_t n, T* a, int64_t lda, int* pivots,
                                                int* info) {
    *info = 0;
    for (int64_t k = 0; k < std::min(m, n); ++k) {
      T* pivot = a + k * lda;
      int64_t best = k;
      for (int64_t i = k + 1; i < m; ++i)
        if (size_of(pivot[i]) > size_of(pivot[best])) best = i;
      pivots[k] = int(best + 1);
      if (pivot[best] == T(0)) {
        if (!*info) *info = int(k + 1);
        continue;
      }
      if (best != k)
        for (int64_t j = 0; j < n; ++j) std::swap(a[k + j * lda], a[best + j * lda]);
      const T inverse = math::divide(T(1), pivot[k]);
      for (int64_t i = k + 1; i < m; ++i) pivot[i] = product(pivot[i], inverse);
      for (int64_t j = k + 1; j < n; ++j) {
        T* column = a + j * lda;
        const T factor = column[k];
#pragma GCC ivdep
        for (int64_t i = k + 1; i < m; ++i) column[i] -= product(pivot[i], factor);
      }
    }
  }
};

// Of the lower triangle; the other is left alone.
template <class T> int small_cholesky(int64_t n, T* a, int64_t lda) {
  const auto at = [&](int64_t i, int64_t j) -> T& { return a[i + j * lda]; };
  for (int64_t j = 0; j < n; ++j) {
    auto rest = std::real(at(j, j));
    for (int64_t k = 0; k < j; ++k) rest -= std::real(product(at(j, k), conjugate(at(j, k))));
    if (!(rest > 0)) {  // NaN too
      at(j, j) = T(rest);
      return int(j + 1);
    }
    const auto root = std::sqrt(rest);
    at(j, j) = T(root);
    for (int64_t i = j + 1; i < n; ++i) {
      T value = at(i, j);
      for (int64_t k = 0; k < j; ++k) value -= product(at(i, k), conjugate(at(j, k)));
      at(i, j) = value / root;
    }
  }
  return 0;
}

}  // namespace mt::kernels::linalg
