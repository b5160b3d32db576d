// The only door to LAPACK: column-major matrices in the four BLAS types. Each function returns LAPACK's info;
// workspace is asked for and taken here.
#pragma once

#include <complex>
#include <cstdint>

namespace mt::kernels::lapack {

template <class T> struct real_of {
  using type = T;
};
template <class R> struct real_of<std::complex<R>> {
  using type = R;
};
template <class T> using real_t = typename real_of<T>::type;

// How a matrix enters a product or a solve.
enum class Form : char { plain = 'N', transposed = 'T', adjoint = 'C' };

template <class T> int sytrf(bool hermitian, int n, T* a, int lda, int* pivots);
template <class T>
int sytrs(bool hermitian, int n, int columns, const T* a, int lda, const int* pivots, T* b, int ldb);
template <class T> int geqrf(int m, int n, T* a, int lda, T* tau);
// The first n columns of the product of k reflectors that geqrf left in a.
template <class T> int orgqr(int m, int n, int k, T* a, int lda, const T* tau);
template <class T>
int ormqr(bool left, Form form, int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc);
// job: 'A' all columns of u and rows of vt, 'S' the first min(m, n), 'N' none.
template <class T> int gesdd(char job, int m, int n, T* a, int lda, real_t<T>* s, T* u, int ldu, T* vt,
                             int ldvt);
template <class T> int syevd(bool vectors, bool upper, int n, T* a, int lda, real_t<T>* w);
// Eigenvalues and, unless `v` is null, right eigenvectors; for real T both come as complex.
template <class T>
int geev(int n, T* a, int lda, std::complex<real_t<T>>* w, std::complex<real_t<T>>* v, int ldv);
enum class LeastSquares { gels, gelsy, gelsd, gelss };
// b has max(m, n) rows; `s` receives min(m, n) singular values with gelsd and gelss, `rank` all but gels give.
template <class T>
int least_squares(LeastSquares driver, int m, int n, int columns, T* a, int lda, T* b, int ldb, real_t<T>* s,
                  real_t<T> rcond, int* rank);

}  // namespace mt::kernels::lapack
