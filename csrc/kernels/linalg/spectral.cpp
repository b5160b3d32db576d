// Singular values and eigenvalues.
#include <functional>

#include "kernels/linalg/batch.h"
#include "kernels/linalg/linalg.h"
#include "kernels/linalg/small_spectra.h"
#include "kernels/openblas/blas.h"

namespace mt::kernels {

using namespace linalg;

namespace {

// "(Batch element 3): " where there is a batch.
std::string place(const View& view, int64_t index) {
  return view.ndim > 2 ? "(Batch element " + std::to_string(index) + "): " : "";
}

constexpr int kNotFinite = -4;

void check_svd(int status, const View& a, int64_t index) {
  MT_CHECK_AS(linear_algebra, status != kNotFinite, "linalg.svd: ", place(a, index),
              "The algorithm failed to converge because the input matrix contained non-finite values.");
  MT_CHECK_AS(linear_algebra, status == 0, "linalg.svd: ", place(a, index),
              "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
              "repeated singular values (error code: ",
              status, ").");
}

// LAPACK may loop on values that are not finite.
template <class T>
int finite_gesdd(char job, ColumnMajor<T>& a, lapack::real_t<T>* s, T* u, int ldu, T* vt, int ldvt) {
  if (!all_finite(a)) return kNotFinite;
  return lapack::gesdd(job, a.rows(), a.columns(), a.data(), a.leading(), s, u, ldu, vt, ldvt);
}

}  // namespace

void svd(const View& a, const View* u, const View& s, const View* vh) {
  dispatch<blas_types>(a.dtype, "linalg_svd_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = lapack::real_t<T>;
    const auto one = [&](int64_t i) {
      ColumnMajor<T> matrix(element(a, 2, i));
      const int64_t k = std::min(matrix.rows(), matrix.columns());
      std::vector<R> values(size_t(std::max<int64_t>(1, k)));
      ColumnMajor<T> left(u ? matrix.rows() : 1, u ? u->sizes[u->ndim - 1] : 1);
      ColumnMajor<T> right(vh ? vh->sizes[vh->ndim - 2] : 1, vh ? matrix.columns() : 1);
      if (k > 0) {
        const bool full = left.columns() > k || right.rows() > k;
        check_svd(
            finite_gesdd(!u     ? 'N'
                         : full ? 'A'
                                : 'S',
                         matrix, values.data(), left.data(), left.leading(), right.data(), right.leading()),
            a, i);
      } else {  // nothing to decompose; full bases are the identity
        for (int64_t j = 0; u && j < std::min(left.rows(), left.columns()); ++j) left.at(j, j) = T(1);
        for (int64_t j = 0; vh && j < std::min(right.rows(), right.columns()); ++j) right.at(j, j) = T(1);
      }
      store_vector<R>(values.data(), element(s, 1, i));
      if (u) left.store(element(*u, 2, i));
      if (vh) right.store(element(*vh, 2, i));
    };
    const int64_t batch = batch_count(a, 2);
    if constexpr (std::is_same_v<T, R>) {
      const int64_t rows = a.sizes[a.ndim - 2], columns = a.sizes[a.ndim - 1];
      if (!u && !vh && SmallSpectra<T>::fits(batch, rows, columns)) {
        const int wide = rows < columns;
        return SmallSpectra<T>::template each<typename SmallSpectra<T>::Singular>(
            a, std::max(rows, columns), std::min(rows, columns), a.strides[a.ndim - 2 + wide],
            a.strides[a.ndim - 1 - wide], std::greater<T>(), s, one);
      }
    }
    for_each_by_lapack(batch, a, one);
  });
}

void eigh(const View& a, const View& w, const View* v, bool upper) {
  dispatch<blas_types>(a.dtype, "linalg_eigh_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = lapack::real_t<T>;
    const auto one = [&](int64_t i) {
      ColumnMajor<T> matrix(element(a, 2, i));
      const int n = matrix.rows();
      std::vector<R> values(size_t(std::max(1, n)));
      mirror(matrix, upper);
      const int status = n == 0                ? 0
                         : !all_finite(matrix) ? std::max(1, n - 1)
                                               : lapack::syevd(v != nullptr, upper, n, matrix.data(),
                                                               matrix.leading(), values.data());
      MT_CHECK_AS(
          linear_algebra, status == 0, "linalg.eigh: ", place(a, i),
          "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
          "repeated eigenvalues (error code: ",
          status, ").");
      store_vector<R>(values.data(), element(w, 1, i));
      if (v) matrix.store(element(*v, 2, i));
    };
    const int64_t batch = batch_count(a, 2), n = a.sizes[a.ndim - 1];
    if constexpr (std::is_same_v<T, R>) {
      const int64_t row = a.strides[a.ndim - 2], column = a.strides[a.ndim - 1];
      if (!v && SmallSpectra<T>::fits(batch, n, n))
        return SmallSpectra<T>::template each<typename SmallSpectra<T>::Symmetric>(
            a, n, n, upper ? column : row, upper ? row : column, std::less<T>(), w, one);
    }
    for_each_by_lapack(batch, a, one);
  });
}

void eig(const View& a, const View& w, const View* v) {
  dispatch<blas_types>(a.dtype, "linalg_eig", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = std::complex<lapack::real_t<T>>;
    for_each_by_lapack(batch_count(a, 2), a, [&](int64_t i) {
      ColumnMajor<T> matrix(element(a, 2, i));
      const int n = matrix.rows();
      MT_CHECK(all_finite(matrix), "torch.linalg.eig: input tensor should not contain infs or NaNs.");
      std::vector<C> values(size_t(std::max(1, n)));
      ColumnMajor<C> vectors(v ? n : 1, v ? n : 1);
      const int status = n == 0 ? 0
                                : lapack::geev(n, matrix.data(), matrix.leading(), values.data(),
                                               v ? vectors.data() : nullptr, vectors.leading());
      MT_CHECK_AS(
          linear_algebra, status == 0, "linalg.eig: ", place(a, i),
          "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
          "repeated eigenvalues (error code: ",
          status, ").");
      store_vector<C>(values.data(), element(w, 1, i));
      if (v) vectors.store(element(*v, 2, i));
    });
  });
}

void pseudo_inverse(const View& a, const View& atol, const View& rtol, const View& out, bool hermitian) {
  dispatch<blas_types>(a.dtype, "linalg_pinv", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = lapack::real_t<T>;
    for_each_by_lapack(batch_count(a, 2), a, [&](int64_t i) {
      ColumnMajor<T> matrix(element(a, 2, i));
      if (hermitian) mirror(matrix, false);
      const int64_t m = matrix.rows(), n = matrix.columns(), k = std::min(m, n);
      if (k == 0) return;
      std::vector<R> values(static_cast<size_t>(k));
      ColumnMajor<T> left(m, k), right(k, n);
      check_svd(finite_gesdd('S', matrix, values.data(), left.data(), left.leading(), right.data(),
                             right.leading()),
                a, i);
      const R absolute = R(*element(atol, 0, i).template as<double>()),
              relative = R(*element(rtol, 0, i).template as<double>());
      const R least = std::max(absolute, relative * values[0]);
      // V S^+ U^H: both factors lie transposed in memory when read by rows.
      ColumnMajor<T> scaled(m, k), product(m, n);
      for (int64_t c = 0; c < k; ++c) {
        const R factor = values[size_t(c)] > least ? R(1) / values[size_t(c)] : R(0);
        for (int64_t r = 0; r < m; ++r) scaled.at(r, c) = left.at(r, c) * factor;
      }
      // product (m x n, by columns) = scaled * right; its adjoint is the pseudo-inverse.
      blas::gemm<T>(n, m, k, T(1), {right.data(), right.leading(), false},
                    {scaled.data(), scaled.leading(), false}, T(0), product.data(), product.leading());
      const View target = element(out, 2, i);
      for (int64_t r = 0; r < n; ++r)
        for (int64_t c = 0; c < m; ++c)
          target.as<T>()[r * target.strides[0] + c * target.strides[1]] = conjugate(product.at(c, r));
    });
  });
}

}  // namespace mt::kernels
