// Householder reflections: QR, products with Q, least squares.
#include <optional>

#include "kernels/linalg/batch.h"
#include "kernels/linalg/linalg.h"
#include "kernels/linalg/reflections.h"

namespace mt::kernels {

using namespace linalg;
using lapack::Form;

namespace {

// LAPACK asks for block sizes and machine constants first, which takes longer than a small matrix.
bool is_small(int64_t rows, int64_t columns) { return std::max(rows, columns) <= 16; }

// R and reflections of a matrix, and Q; by halves where it is real and not small.
template <class T> class Qr {
 public:
  Qr(const View& source, int64_t width)
      : m_(source.sizes[0]),
        n_(source.sizes[1]),
        k_(std::min(m_, n_)),
        matrix_(m_, std::max(n_, width)),  // room for Q, which may be wider than A
        tau_(size_t(std::max<int64_t>(1, k_))) {
    matrix_.load(source);
    if (k_ == 0) return;
    if (is_small(m_, matrix_.columns())) {
      if (SmallReflections<T>::run(m_, n_, matrix_.data(), matrix_.leading(), tau_.data())) return;
      matrix_.load(source);
    } else if constexpr (!is_complex_v<T>) {
      v_.emplace(m_, k_), t_.emplace(k_, k_);
      const Block<T> columns = Block<T>(matrix_).part(0, 0, m_, n_);
      if (factor_qr(columns, Block<T>(*v_), Block<T>(*t_), tau_.data())) return;
      v_.reset();
      matrix_.load(source);
    }
    lapack::geqrf(matrix_.rows(), small(n_), matrix_.data(), matrix_.leading(), tau_.data());
  }
  ColumnMajor<T>& matrix() { return matrix_; }
  const T* tau() const { return tau_.data(); }

  void store_r(const View& r) {
    const T* from = matrix_.data();
    for (int64_t row = 0; row < r.sizes[0]; ++row)
      for (int64_t c = 0; c < n_; ++c)
        r.as<T>()[row * r.strides[0] + c * r.strides[1]] = c < row ? T(0) : from[row + c * matrix_.leading()];
  }
  // The matrix is gone then.
  void store_q(const View& q) {
    const int64_t width = q.sizes[1];
    if (k_ == 0) return set_identity(Block<T>(q));
    if (v_) return form_q(Block<T>(*v_), Block<T>(*t_), Block<T>(q));
    multiply_out(matrix_, width, k_, tau_.data());
    matrix_.store(q);
  }

  static void multiply_out(ColumnMajor<T>& matrix, int64_t n, int64_t count, const T* tau) {
    if (is_small(matrix.rows(), n))
      return small_orthogonal(matrix.rows(), n, count, matrix.data(), matrix.leading(), tau);
    lapack::orgqr(matrix.rows(), small(n), small(count), matrix.data(), matrix.leading(), tau);
  }

 private:
  int64_t m_, n_, k_;
  ColumnMajor<T> matrix_;
  std::vector<T> tau_;
  std::optional<ColumnMajor<T>> v_, t_;
};
template <class T, class F> void for_each_qr(const View& a, const F& f) {
  if constexpr (is_complex_v<T>) for_each_by_lapack(batch_count(a, 2), a, f);
  else for_each_matrix(batch_count(a, 2), a, f);
}

}  // namespace

void geqrf(const View& a, const View& reflectors, const View& tau) {
  dispatch<blas_types>(a.dtype, "geqrf", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_qr<T>(a, [&](int64_t i) {
      Qr<T> factors(element(a, 2, i), 0);
      factors.matrix().store(element(reflectors, 2, i));
      store_vector<T>(factors.tau(), element(tau, 1, i));
    });
  });
}

void qr(const View& a, const View* q, const View& r) {
  dispatch<blas_types>(a.dtype, "linalg_qr", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_qr<T>(a, [&](int64_t i) {
      Qr<T> factors(element(a, 2, i), q ? q->sizes[q->ndim - 1] : 0);
      factors.store_r(element(r, 2, i));
      if (q) factors.store_q(element(*q, 2, i));
    });
  });
}

void householder_product(const View& reflectors, const View& tau, const View& out) {
  dispatch<blas_types>(out.dtype, "orgqr", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_by_lapack(batch_count(out, 2), out, [&](int64_t i) {
      ColumnMajor<T> matrix(element(reflectors, 2, i));
      const std::vector<T> factors = load_vector<T>(element(tau, 1, i));
      const int64_t count = tau.sizes[tau.ndim - 1];
      if (matrix.columns() > 0) Qr<T>::multiply_out(matrix, matrix.columns(), count, factors.data());
      matrix.store(element(out, 2, i));
    });
  });
}

void ormqr(const View& reflectors, const View& tau, const View& other, const View& out, bool left,
           bool transpose) {
  dispatch<blas_types>(out.dtype, "ormqr", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_by_lapack(batch_count(out, 2), out, [&](int64_t i) {
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
    for_each_by_lapack(batch_count(solution, 2), a, [&](int64_t i) {
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
