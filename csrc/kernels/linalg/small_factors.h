// Factors of matrices with a few columns, column-major. Arguments, results and pivots are LAPACK's.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/common/arithmetic.h"
#include "kernels/common/rows.h"
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

// The first place of the largest of x[0 … n - 1]; NaN is no larger than others, and nothing is larger than it.
template <class T> [[gnu::always_inline]] inline int64_t largest_place(const T* x, int64_t n) {
  int64_t best = 0, i = 1;
  if constexpr (!is_complex_v<T>) {
    constexpr int64_t kLanes = 128 / int64_t(sizeof(T));
    if (n >= 2 * kLanes && x[0] == x[0]) {
      T lanes[kLanes];
      std::fill_n(lanes, kLanes, std::abs(x[0]));
      int64_t k = 0;
      for (; k + kLanes <= n; k += kLanes)
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const T size = math::absolute(x[k + lane]);
          lanes[lane] = math::select(size > lanes[lane], size, lanes[lane]);
        }
      T most = *std::max_element(lanes, lanes + kLanes);
      for (; k < n; ++k) most = std::max(most, std::abs(x[k]));
      while (std::abs(x[best]) != most) ++best;
      return best;
    }
  }
  for (; i < n; ++i)
    if (size_of(x[i]) > size_of(x[best])) best = i;
  return best;
}

template <class T> struct SmallLu {
  [[gnu::always_inline]] static inline void run(int64_t m, int64_t n, T* a, int64_t lda, int* pivots,
                                                int* info) {
    *info = 0;
    for (int64_t k = 0; k < std::min(m, n); ++k) {
      T* pivot = a + k * lda;
      const int64_t best = k + largest_place(pivot + k, m - k);
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
template <class T> struct SmallCholesky {
  [[gnu::always_inline]] static inline void run(int64_t n, T* a, int64_t lda, int* info) {
    *info = 0;
    for (int64_t j = 0; j < n; ++j) {
      T* column = a + j * lda;
      const auto rest = std::real(column[j]);
      if (!(rest > 0)) {  // NaN too
        column[j] = T(rest);
        *info = int(j + 1);
        return;
      }
      const auto root = std::sqrt(rest);
      column[j] = T(root);
      for (int64_t i = j + 1; i < n; ++i) column[i] /= root;
      for (int64_t k = j + 1; k < n; ++k) {
        T* other = a + k * lda;
        const T factor = conjugate(column[k]);
#pragma GCC ivdep
        for (int64_t i = k; i < n; ++i) other[i] -= product(column[i], factor);
      }
    }
  }
};

// column - (1, v) (1, v)^H column factor
template <class T>
[[gnu::always_inline]] inline void reflect(const T* v, int64_t n, T factor, T* column) {
  T along = column[0];
  if constexpr (is_complex_v<T>)
    for (int64_t i = 0; i < n; ++i) along += product(conjugate(v[i]), column[i + 1]);
  else
    along += T(sum_of<T>(n, [=](int64_t i) __attribute__((always_inline)) { return v[i] * column[i + 1]; }));
  along = product(along, factor);
  column[0] -= along;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) column[i + 1] -= product(v[i], along);
}

// Reflections that leave an upper triangle. False, with the matrix half done, where squares leave the range: then it is
// LAPACK's turn, which scales.
template <class T> struct SmallReflections {
  using R = lapack::real_t<T>;
  [[gnu::always_inline]] static inline bool run(int64_t m, int64_t n, T* a, int64_t lda, T* tau) {
    for (int64_t j = 0; j < std::min(m, n); ++j) {
      T* pivot = a + j + j * lda;
      const int64_t below = m - j - 1;
      const double squares = sum_of<R>(below, [=](int64_t i) __attribute__((always_inline)) {
        return std::real(product(pivot[i + 1], conjugate(pivot[i + 1])));
      });
      const double real = double(std::real(*pivot)), imaginary = double(std::imag(*pivot));
      tau[j] = T(0);
      if (squares == 0 && imaginary == 0) {
        if (std::any_of(pivot + 1, pivot + 1 + below, [](T x) { return x != T(0); })) return false;
        continue;
      }
      constexpr double least = sizeof(R) == 4 ? 1e-30 : 1e-280, most = 1 / least;
      const double all = squares + real * real + imaginary * imaginary;
      if (!(all > least && all < most)) return false;
      const R length = R(-std::copysign(std::sqrt(all), real));
      tau[j] = (T(length) - *pivot) / length;
      const T scale = math::divide(T(1), *pivot - T(length));
      for (int64_t i = 1; i <= below; ++i) pivot[i] = product(pivot[i], scale);
      *pivot = T(length);
      for (int64_t c = j + 1; c < n; ++c) reflect(pivot + 1, below, conjugate(tau[j]), a + j + c * lda);
    }
    return true;
  }
};

// The first n columns of the product of k reflections, in their place.
template <class T> void small_orthogonal(int64_t m, int64_t n, int64_t k, T* a, int64_t lda, const T* tau) {
  for (int64_t c = k; c < n; ++c) {
    std::fill_n(a + c * lda, m, T(0));
    a[c + c * lda] = T(1);
  }
  for (int64_t j = k - 1; j >= 0; --j) {
    T* pivot = a + j + j * lda;
    const int64_t below = m - j - 1;
    for (int64_t c = j + 1; c < n; ++c) reflect(pivot + 1, below, tau[j], a + j + c * lda);
    for (int64_t i = 1; i <= below; ++i) pivot[i] = -product(pivot[i], tau[j]);
    *pivot = T(1) - tau[j];
    std::fill_n(a + j * lda, j, T(0));
  }
}

}  // namespace mt::kernels::linalg
