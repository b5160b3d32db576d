// Factors of small column-major matrices. LAPACK is made for large ones: of a matrix of four rows, most of its time goes
// into choosing block sizes and calling BLAS for each column. Arguments, results and pivots are LAPACK's.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>

namespace mt::kernels::lapack::small {

inline constexpr int kMost = 16;  // rows and columns up to which these are faster

template <class T> struct is_complex : std::false_type {};
template <class R> struct is_complex<std::complex<R>> : std::true_type {};

// What a pivot is chosen by.
template <class T> auto size_of(T x) {
  if constexpr (is_complex<T>::value) return std::abs(x.real()) + std::abs(x.imag());
  else return std::abs(x);
}
template <class T> T product(T a, T b) {
  if constexpr (is_complex<T>::value)
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  else return a * b;
}
template <class T> T conjugated(T x) {
  if constexpr (is_complex<T>::value) return std::conj(x);
  else return x;
}

template <class T> int getrf(int m, int n, T* a, int lda, int* pivots) {
  int info = 0;
  const auto at = [&](int i, int j) -> T& { return a[i + int64_t(j) * lda]; };
  for (int k = 0; k < (m < n ? m : n); ++k) {
    int best = k;
    for (int i = k + 1; i < m; ++i)
      if (size_of(at(i, k)) > size_of(at(best, k))) best = i;
    pivots[k] = best + 1;
    if (at(best, k) == T(0)) {
      if (!info) info = k + 1;
      continue;
    }
    if (best != k)
      for (int j = 0; j < n; ++j) std::swap(at(k, j), at(best, j));
    const T inverse = T(1) / at(k, k);
    for (int i = k + 1; i < m; ++i) at(i, k) = product(at(i, k), inverse);
    for (int j = k + 1; j < n; ++j) {
      const T factor = at(k, j);
      for (int i = k + 1; i < m; ++i) at(i, j) -= product(at(i, k), factor);
    }
  }
  return info;
}

// Solves A X = B with the factors of A.
template <class T>
void getrs(int n, int columns, const T* a, int lda, const int* pivots, T* b, int ldb) {
  for (int c = 0; c < columns; ++c) {
    T* x = b + int64_t(c) * ldb;
    for (int k = 0; k < n; ++k) std::swap(x[k], x[pivots[k] - 1]);
    for (int k = 0; k < n; ++k)
      for (int i = k + 1; i < n; ++i) x[i] -= product(a[i + int64_t(k) * lda], x[k]);
    for (int k = n - 1; k >= 0; --k) {
      x[k] /= a[k + int64_t(k) * lda];
      for (int i = 0; i < k; ++i) x[i] -= product(a[i + int64_t(k) * lda], x[k]);
    }
  }
}

// The same with the transposed factors, conjugated or not: A^T is U^T L^T and the exchanges.
template <class T>
void getrs_transposed(bool conjugate, int n, int columns, const T* a, int lda, const int* pivots, T* b,
                      int ldb) {
  const auto at = [&](int i, int j) {
    const T x = a[i + int64_t(j) * lda];
    return conjugate ? conjugated(x) : x;
  };
  for (int c = 0; c < columns; ++c) {
    T* x = b + int64_t(c) * ldb;
    for (int k = 0; k < n; ++k) {
      for (int i = 0; i < k; ++i) x[k] -= product(at(i, k), x[i]);
      x[k] /= at(k, k);
    }
    for (int k = n - 1; k >= 0; --k)
      for (int i = k + 1; i < n; ++i) x[k] -= product(at(i, k), x[i]);
    for (int k = n - 1; k >= 0; --k) std::swap(x[k], x[pivots[k] - 1]);
  }
}

template <class T> int getri(int n, T* a, int lda, const int* pivots) {
  for (int k = 0; k < n; ++k)
    if (a[k + int64_t(k) * lda] == T(0)) return k + 1;
  T inverse[kMost * kMost];
  for (int i = 0; i < n * n; ++i) inverse[i] = T(0);
  for (int k = 0; k < n; ++k) inverse[k + k * n] = T(1);
  getrs(n, n, a, lda, pivots, inverse, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) a[i + int64_t(j) * lda] = inverse[i + j * n];
  return 0;
}

template <class T> int potrf(bool upper, int n, T* a, int lda) {
  const auto at = [&](int i, int j) -> T& {  // of the lower triangle, or of the upper one mirrored
    return upper ? a[j + int64_t(i) * lda] : a[i + int64_t(j) * lda];
  };
  for (int j = 0; j < n; ++j) {
    auto rest = std::real(at(j, j));
    for (int k = 0; k < j; ++k) rest -= std::real(product(at(j, k), conjugated(at(j, k))));
    if (!(rest > 0)) {  // NaN too
      at(j, j) = T(rest);
      return j + 1;
    }
    const auto root = std::sqrt(rest);
    at(j, j) = T(root);
    for (int i = j + 1; i < n; ++i) {
      T value = at(i, j);
      for (int k = 0; k < j; ++k) value -= product(at(i, k), conjugated(at(j, k)));
      at(i, j) = value / root;
    }
  }
  return 0;
}

}  // namespace mt::kernels::lapack::small
