// Householder reflections: QR, products with Q, least squares.
#include "kernels/linalg/batch.h"
#include "kernels/linalg/linalg.h"

namespace mt::kernels {

using namespace linalg;
using lapack::Form;

void geqrf(const View& a, const View& reflectors, const View& tau) {
  dispatch<blas_types>(a.dtype, "geqrf", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(a, 2), a, [&](int64_t i) {
      ColumnMajor<T> matrix(element(a, 2, i));
      const View t = element(tau, 1, i);
      std::vector<T> factors(size_t(std::max<int64_t>(1, t.sizes[0])));
      if (t.sizes[0] > 0)
        lapack::geqrf(matrix.rows(), matrix.columns(), matrix.data(), matrix.leading(), factors.data());
      matrix.store(element(reflectors, 2, i));
      store_vector<T>(factors.data(), t);
    });
  });
}

void qr(const View& a, const View* q, const View& r) {
  dispatch<blas_types>(a.dtype, "linalg_qr", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(a, 2), a, [&](int64_t i) {
      const View source = element(a, 2, i), upper = element(r, 2, i);
      const int64_t m = source.sizes[0], n = source.sizes[1], k = std::min(m, n);
      const int64_t width = q ? q->sizes[q->ndim - 1] : k;
      ColumnMajor<T> matrix(m, std::max(n, width));  // room for Q, which may be wider than A
      matrix.load(source);
      std::vector<T> tau(size_t(std::max<int64_t>(1, k)));
      if (k > 0) lapack::geqrf(matrix.rows(), small(n), matrix.data(), matrix.leading(), tau.data());
      for (int64_t row = 0; row < upper.sizes[0]; ++row)
        for (int64_t c = 0; c < n; ++c)
          upper.as<T>()[row * upper.strides[0] + c * upper.strides[1]] = c < row ? T(0) : matrix.at(row, c);
      if (!q) return;
      if (k > 0) {
        lapack::orgqr(matrix.rows(), small(width), small(k), matrix.data(), matrix.leading(), tau.data());
      } else {
        for (int64_t c = 0; c < width; ++c) matrix.at(c, c) = T(1);
      }
      matrix.store(element(*q, 2, i));
    });
  });
}

void householder_product(const View& reflectors, const View& tau, const View& out) {
  dispatch<blas_types>(out.dtype, "orgqr", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(out, 2), out, [&](int64_t i) {
      ColumnMajor<T> matrix(element(reflectors, 2, i));
      const std::vector<T> factors = load_vector<T>(element(tau, 1, i));
      const int64_t count = tau.sizes[tau.ndim - 1];
      if (matrix.columns() > 0) {
        lapack::orgqr(matrix.rows(), matrix.columns(), small(count), matrix.data(), matrix.leading(),
                      factors.data());
      }
      matrix.store(element(out, 2, i));
    });
  });
}

void ormqr(const View& reflectors, const View& tau, const View& other, const View& out, bool left,
           bool transpose) {
  dispatch<blas_types>(out.dtype, "ormqr", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(out, 2), out, [&](int64_t i) {
      ColumnMajor<T> matrix(element(reflectors, 2, i)), product(element(other, 2, i));
      const std::vector<T> factors = load_vector<T>(element(tau, 1, i));
      if (product.rows() > 0 && product.columns() > 0) {
        lapack::ormqr(left, transpose ? Form::adjoint : Form::plain, product.rows(), product.columns(),
                      small(tau.sizes[tau.ndim - 1]), matrix.data(), matrix.leading(), factors.data(),
                      product.data(), product.leading());
      }
      product.store(element(out, 2, i));
    });
  });
}

void least_squares(const View& a, const View& b, const View& solution, const View* rank, const View* s,
                   double rcond, std::string_view driver) {
  using lapack::LeastSquares;
  const LeastSquares which = driver == "gels"    ? LeastSquares::gels
                             : driver == "gelsd" ? LeastSquares::gelsd
                             : driver == "gelss" ? LeastSquares::gelss
                                                 : LeastSquares::gelsy;
  dispatch<blas_types>(a.dtype, "linalg_lstsq", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = lapack::real_t<T>;
    for_each_matrix(batch_count(solution, 2), a, [&](int64_t i) {
      ColumnMajor<T> matrix(element(a, 2, i));
      const View right = element(b, 2, i);
      const int64_t small_side = std::min(matrix.rows(), matrix.columns());
      ColumnMajor<T> rhs(std::max<int64_t>(1, std::max(matrix.rows(), matrix.columns())), right.sizes[1]);
      rhs.load(right);
      std::vector<R> values(size_t(std::max<int64_t>(1, small_side)));
      int found = 0;
      if (small_side > 0 && rhs.columns() > 0) {
        const int status = lapack::least_squares(which, matrix.rows(), matrix.columns(), rhs.columns(),
                                                 matrix.data(), matrix.leading(), rhs.data(), rhs.leading(),
                                                 values.data(), R(rcond), &found);
        MT_CHECK_AS(linear_algebra, status == 0 || which != LeastSquares::gels,
                    "torch.linalg.lstsq: The least squares solution could not be computed because the input "
                    "matrix does not have full rank (error code: ",
                    status, ").");
        MT_CHECK_AS(linear_algebra, status == 0,
                    "torch.linalg.lstsq: The algorithm failed to converge because the input matrix is "
                    "ill-conditioned (error code: ",
                    status, ").");
      } else {
        rhs = ColumnMajor<T>(rhs.rows(), rhs.columns());
      }
      rhs.store(element(solution, 2, i));
      if (rank) *element(*rank, 0, i).template as<int64_t>() = found;
      if (s) store_vector<R>(values.data(), element(*s, 1, i));
    });
  });
}

}  // namespace mt::kernels
