// Factorisations that solve systems: LU, Cholesky, LDL, triangles.
#include <cmath>

#include "kernels/linalg/batch.h"
#include "kernels/linalg/factors.h"
#include "kernels/linalg/linalg.h"

namespace mt::kernels {

using namespace linalg;

void lu_factor(const View& a, const View& lu, const View& pivots, const View& info) {
  dispatch<blas_types>(a.dtype, "lu_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(a, 2), a, [&](int64_t i) {
      const Block<T> factors(element(lu, 2, i));
      const View p = element(pivots, 1, i);
      Pivots rows(p.sizes[0]);
      *element(info, 0, i).as<int32_t>() = factor_lu(Block<T>(element(a, 2, i)), factors, rows.data());
      store_vector<int32_t>(rows.data(), p);
    });
  });
}

namespace {

// LAPACK's row exchanges are of rows 1…n; anything else would write outside the matrix.
void check_pivots(Pivots& pivots, int64_t n) {
  for (int p : pivots)
    MT_CHECK(p >= 1 && p <= n,
             p < 1 ? "Pivots given to lu_solve must all be greater or equal to 1. "
                   : "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). ",
             "Did you properly pass the result of lu_factor?");
}

}  // namespace

void lu_solve(const View& lu, const View& pivots, const View& b, const View& x, bool left, bool adjoint) {
  dispatch<blas_types>(lu.dtype, "lu_solve", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(x, 2), x, [&](int64_t i) {
      const Block<T> factors(element(lu, 2, i)), out(element(x, 2, i));
      Pivots rows(element(pivots, 1, i));
      const int64_t n = factors.rows;
      if (n == 0 || out.rows == 0 || out.columns == 0) return;
      check_pivots(rows, n);
      assign(Block<T>(element(b, 2, i)), out);
      // X A = B is A^T X^T = B^T, and A^H X = B is A^T conj(X) = conj(B).
      const Block<T> columns = left ? out : out.transposed();
      if (adjoint) conjugate(out);
      if (adjoint == left) {
        solve_triangle(factors.transposed(), columns, false, false);
        solve_triangle(factors.transposed(), columns, true, true);
        exchange_rows(columns, rows.data(), 0, n, true);
      } else {
        exchange_rows(columns, rows.data(), 0, n);
        solve_triangle(factors, columns, false, true);
        solve_triangle(factors, columns, true, false);
      }
      if (adjoint) conjugate(out);
    });
  });
}

namespace {

// Whether the row exchanges make an odd permutation.
bool odd(const View& pivots) {
  bool flipped = false;
  for (int64_t k = 0; k < pivots.sizes[0]; ++k)
    flipped ^= pivots.as<int32_t>()[k * pivots.strides[0]] != k + 1;
  return flipped;
}

}  // namespace

void lu_determinant(const View& lu, const View& pivots, const View& determinant) {
  dispatch<blas_types>(lu.dtype, "det", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < batch_count(lu, 2); ++i) {
      const View m = element(lu, 2, i);
      T product = odd(element(pivots, 1, i)) ? T(-1) : T(1);
      for (int64_t k = 0; k < m.sizes[0]; ++k) product *= m.as<T>()[k * (m.strides[0] + m.strides[1])];
      *element(determinant, 0, i).as<T>() = product;
    }
  });
}

void lu_sign_and_log(const View& lu, const View& pivots, const View& sign, const View& log_abs) {
  dispatch<blas_types>(lu.dtype, "slogdet", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = lapack::real_t<T>;
    for (int64_t i = 0; i < batch_count(lu, 2); ++i) {
      const View m = element(lu, 2, i);
      T direction = odd(element(pivots, 1, i)) ? T(-1) : T(1);
      R sum = 0;
      for (int64_t k = 0; k < m.sizes[0]; ++k) {
        const T x = m.as<T>()[k * (m.strides[0] + m.strides[1])];
        const R size = std::abs(x);
        direction *= size == R(0) ? T(0) : x / size;
        sum += std::log(size);
      }
      *element(sign, 0, i).as<T>() = direction;
      *element(log_abs, 0, i).as<R>() = sum;
    }
  });
}

void permutation_matrix(const View& pivots, const View& out) {
  dispatch<domains::any>(out.dtype, "lu_unpack", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < batch_count(out, 2); ++i) {
      const View m = element(out, 2, i);
      Pivots exchanges(element(pivots, 1, i));
      const int64_t rows = m.sizes[0], count = pivots.sizes[pivots.ndim - 1];
      std::vector<int64_t> order(static_cast<size_t>(rows));
      for (int64_t k = 0; k < rows; ++k) order[size_t(k)] = k;
      for (int64_t k = 0; k < std::min(count, rows); ++k) {
        const int64_t other = int64_t(exchanges[size_t(k)]) - 1;
        MT_CHECK(other >= 0 && other < rows,
                 "pivots passed to lu_unpack must be between 1 and LU.size(-2) "
                 "inclusive.Did you properly pass the result of lu_factor?");
        std::swap(order[size_t(k)], order[size_t(other)]);
      }
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < rows; ++c) m.as<T>()[r * m.strides[0] + c * m.strides[1]] = cast<T>(0);
      for (int64_t c = 0; c < rows; ++c)
        m.as<T>()[order[size_t(c)] * m.strides[0] + c * m.strides[1]] = cast<T>(1);
    }
  });
}

void inverse(const View& a, const View& out, const View& info) {
  dispatch<blas_types>(a.dtype, "linalg_inv", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(a, 2), a, [&](int64_t i) {
      const Block<T> source(element(a, 2, i)), target(element(out, 2, i));
      const int64_t n = source.rows;
      ColumnMajor<T> matrix(n, n, Unset{});
      const Block<T> factors = Block<T>(matrix).transposed();
      Pivots pivots(n);
      const int status = factor_lu(source, factors, pivots.data());
      *element(info, 0, i).as<int32_t>() = status;
      if (status != 0) return assign(factors, target);
      invert_lower(factors, target, true);
      solve_triangle(factors, target, true, false);
      exchange_rows(target.transposed(), pivots.data(), 0, n, true);
    });
  });
}

void cholesky(const View& a, const View& factor, const View& info, bool upper) {
  dispatch<blas_types>(a.dtype, "linalg_cholesky", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(a, 2), a, [&](int64_t i) {
      // The transpose of an upper factor is the lower one of the transposed matrix.
      const Block<T> target(element(factor, 2, i)), lower = upper ? target.transposed() : target;
      assign(Block<T>(element(a, 2, i)), target);
      *element(info, 0, i).as<int32_t>() = factor_cholesky(lower);
      for (int64_t r = 0; r < lower.rows; ++r)
        for (int64_t c = r + 1; c < lower.rows; ++c) lower.at(r, c) = T(0);
    });
  });
}

// Before anything is written, and with PyTorch's words: nothing above a kernel hears of it.
template <class T>
static void check_invertible(const View& factor) {
  for (int64_t i = 0; i < batch_count(factor, 2); ++i) {
    const Block<T> matrix(element(factor, 2, i));
    for (int64_t d = 0; d < matrix.rows; ++d) {
      if (matrix.at(d, d) != T(0)) continue;
      const std::string place = factor.ndim > 2 ? join_text("(Batch element ", i, "): ") : "";
      fail(ErrorKind::linear_algebra, "cholesky_inverse: ", place, "The diagonal element ", d + 1,
           " is zero, the inversion could not be completed because the input matrix is singular.");
    }
  }
}

void cholesky_inverse(const View& factor, const View& out, bool upper) {
  dispatch<blas_types>(factor.dtype, "cholesky_inverse", [&](auto tag) {
    using T = typename decltype(tag)::type;
    check_invertible<T>(factor);
    for_each_matrix(batch_count(factor, 2), factor, [&](int64_t i) {
      ColumnMajor<T> copy(element(factor, 2, i));  // the result may be written over it
      const Block<T> given(copy), result(element(out, 2, i));
      const Block<T> lower = upper ? given.transposed() : given,
                     target = upper ? result.transposed() : result;
      invert_lower(lower, target, false);
      conjugate(target);  // L^H X = B is L^T conj(X) = conj(B)
      solve_triangle(lower.transposed(), target, true, false);
      conjugate(target);
    });
  });
}

void solve_triangular(const View& a, const View& b, const View& x, bool upper, bool left, bool unit) {
  dispatch<blas_types>(a.dtype, "triangular_solve", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(x, 2), x, [&](int64_t i) {
      const Block<T> triangle(element(a, 2, i)), out(element(x, 2, i));
      assign(Block<T>(element(b, 2, i)), out);
      if (left) solve_triangle(triangle, out, upper, unit);
      else solve_triangle(triangle.transposed(), out.transposed(), !upper, unit);
    });
  });
}

void ldl_factor(const View& a, const View& factor, const View& pivots, const View& info, bool hermitian) {
  dispatch<blas_types>(a.dtype, "ldl_factor", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_by_lapack(batch_count(a, 2), a, [&](int64_t i) {
      ColumnMajor<T> matrix(element(a, 2, i));
      const int n = matrix.rows();
      Pivots rows(n);
      const int status =
          n == 0 ? 0 : lapack::sytrf(hermitian, n, matrix.data(), matrix.leading(), rows.data());
      for (int64_t r = 0; r < n; ++r)
        for (int64_t c = r + 1; c < n; ++c) matrix.at(r, c) = T(0);
      matrix.store(element(factor, 2, i));
      store_vector<int32_t>(rows.data(), element(pivots, 1, i));
      *element(info, 0, i).as<int32_t>() = status;
    });
  });
}

void ldl_solve(const View& factor, const View& pivots, const View& b, const View& x, bool hermitian) {
  dispatch<blas_types>(b.dtype, "ldl_solve", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_by_lapack(batch_count(x, 2), x, [&](int64_t i) {
      ColumnMajor<T> matrix(element(factor, 2, i)), rhs(element(b, 2, i));
      Pivots rows(element(pivots, 1, i));
      const int n = matrix.rows();
      if (n > 0 && rhs.columns() > 0) {
        for (int64_t k = 0; k < n; ++k) {  // a negative pivot marks a block of two
          const int p = std::abs(rows[size_t(k)]);
          MT_CHECK(p >= 1 && p <= n, "Pivots given to ldl_solve must all satisfy |pivot| ",
                   p < 1 ? ">= 1" : "<= LD.size(-2)", ". Did you properly pass the result of ldl_factor?");
          if (rows[size_t(k)] > 0) continue;
          MT_CHECK(k + 1 < n && rows[size_t(k + 1)] == rows[size_t(k)],
                   "torch.linalg.ldl_solve: negative pivots must come in equal pairs");
          ++k;
        }
        lapack::sytrs(hermitian, n, rhs.columns(), matrix.data(), matrix.leading(), rows.data(), rhs.data(),
                      rhs.leading());
      }
      rhs.store(element(x, 2, i));
    });
  });
}

}  // namespace mt::kernels
