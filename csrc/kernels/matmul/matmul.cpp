#include "kernels/matmul/matmul.h"

#include <algorithm>
#include <optional>

#include "kernels/common/arithmetic.h"
#include "kernels/common/copy.h"
#include "kernels/common/dense.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/matmul/bfloat16_product.h"
#include "kernels/matmul/few_rows.h"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/narrow_product.h"
#include "kernels/matmul/tiny_product.h"
#include "kernels/matmul/vector_product.h"
#include "kernels/openblas/blas.h"

namespace mt::kernels {
namespace {

// Products with a vector of more multiplications than this have loops of their own, also those of fewer along lines that are
// longer than kWorthLine and lie together.
constexpr int64_t kWorthLines = 512, kWorthLine = 32;

struct Shape {
  int64_t m, n, k;
};

Shape check_shapes(const View& a, const View& b, const View& out, const char* name, int batch) {
  const int nd = 2 + batch;
  MT_CHECK(a.ndim == nd && b.ndim == nd && out.ndim == nd, name, ": expected ", nd, "-D tensors, got ",
           a.ndim, "-D, ", b.ndim, "-D and a ", out.ndim, "-D result");
  const int64_t *x = a.sizes + batch, *y = b.sizes + batch, *z = out.sizes + batch;
  MT_CHECK(x[1] == y[0], name, ": mat1 and mat2 shapes cannot be multiplied (", x[0], "x", x[1], " and ",
           y[0], "x", y[1], ")");
  MT_CHECK(z[0] == x[0] && z[1] == y[1], name, ": expected a result of ", x[0], "x", y[1], ", got ", z[0],
           "x", z[1]);
  MT_CHECK(a.dtype == b.dtype && a.dtype == out.dtype,
           "expected m1 and m2 to have the same dtype, but got: ", info(a.dtype).name,
           " != ", info(a.dtype != b.dtype ? b.dtype : out.dtype).name);
  return {x[0], y[1], x[1]};
}

// The view as BLAS can take it; what it cannot (both strides different from 1, overlapping rows) is copied.
template <class T>
blas::Matrix as_matrix(const View& view, std::optional<Dense>& copied) {
  const int64_t rows = view.sizes[0], columns = view.sizes[1], s0 = view.strides[0], s1 = view.strides[1];
  const int64_t at_least_columns = std::max<int64_t>(1, columns), at_least_rows = std::max<int64_t>(1, rows);
  if ((s1 == 1 || columns <= 1) && (s0 >= at_least_columns || rows <= 1))
    return {view.data, rows <= 1 ? at_least_columns : s0, false};
  if ((s0 == 1 || rows <= 1) && (s1 >= at_least_rows || columns <= 1))
    return {view.data, columns <= 1 ? at_least_rows : s1, true};
  copied.emplace(view, dtype_of<T>, Access::read);
  return {copied->view().data, at_least_columns, false};
}

// The products of `count` matrices, whose places in a batch are `batch` dimensions before the last two.
template <class T>
void tiny_products(const View& a, const View& b, const View& out, int batch, int64_t first, int64_t count,
                   Shape s, T alpha, T beta) {
  const auto matrices = [&]<class E>(const View& view, E*) {
    const int64_t next = batch ? view.strides[0] : 0;
    return TinyMatrices<E>{view.as<E>() + first * next, next, view.strides[batch], view.strides[batch + 1]};
  };
  const T* read = nullptr;
  T* written = nullptr;
  TinyProducts<T>::multiply(
      {matrices(a, read), matrices(b, read), matrices(out, written), count, s.m, s.n, s.k, alpha, beta});
}

View transposed(const View& view, int64_t* sizes, int64_t* strides) {
  sizes[0] = view.sizes[1], sizes[1] = view.sizes[0];
  strides[0] = view.strides[1], strides[1] = view.strides[0];
  return {view.data, sizes, strides, 2, view.dtype};
}

Factor as_factor(const View& view) { return {view.data, view.strides[0], view.strides[1], view.dtype}; }

// OpenBLAS adds up a small product's terms in one chain unless both matrices lie along it, so those get slices. See
// Note [Sums in slices].
template <class T>
void sliced_gemm(Shape s, T alpha, blas::Matrix left, blas::Matrix right, T beta, T* out, int64_t leading) {
  const bool along = !left.transposed && right.transposed;
  const int64_t slice = along || worth_packing(s.m, s.n, s.k) ? std::max<int64_t>(s.k, 1) : 512;
  const T *x = static_cast<const T*>(left.data), *y = static_cast<const T*>(right.data);
  for (int64_t first = 0; first == 0 || first < s.k; first += slice) {
    blas::gemm<T>(s.m, s.n, std::min(slice, s.k - first), alpha,
                  {x + first * (left.transposed ? left.leading : 1), left.leading, left.transposed},
                  {y + first * (right.transposed ? 1 : right.leading), right.leading, right.transposed},
                  first == 0 ? beta : T(1), out, leading);
  }
}

template <class T>
void blas_product(const View& a, const View& b, const View& out, Shape s, T alpha, T beta) {
  if (TinyProducts<T>::fits(s.m, s.n, s.k)) return tiny_products<T>(a, b, out, 0, 0, 1, s, alpha, beta);
  if constexpr (std::is_floating_point_v<T>) {
    const Factor left = as_factor(a), right = as_factor(b);
    const Result<T> result{out.as<T>(), out.strides[0], out.strides[1]};
    using Narrow = NarrowProduct<T>;
    if (Narrow::fits(s.m, s.n, s.k, result))
      return Narrow::run(s.m, s.n, s.k, alpha, left, right, beta, result);
    if (Narrow::fits(s.n, s.m, s.k, result.transposed()))
      return Narrow::run(s.n, s.m, s.k, alpha, right.transposed(), left.transposed(), beta,
                         result.transposed());
    if (Narrow::sums(s.m, s.n, s.k, right))
      return Narrow::run_sums(s.m, s.n, s.k, alpha, left, right, beta, result);
    if (Narrow::sums(s.n, s.m, s.k, left.transposed()))
      return Narrow::run_sums(s.n, s.m, s.k, alpha, right.transposed(), left.transposed(), beta,
                              result.transposed());
    if (FewRows<T>::fits(s.m, s.n, s.k, left, right))
      return FewRows<T>::run(s.m, s.n, s.k, alpha, left, right, beta, result);
    if (FewRows<T>::fits(s.n, s.m, s.k, right.transposed(), left.transposed()))
      return FewRows<T>::run(s.n, s.m, s.k, alpha, right.transposed(), left.transposed(), beta,
                             result.transposed());
    if (worth_packing(s.m, s.n, s.k))
      return packed_product<T>(s.m, s.n, s.k, alpha, left, right, beta, result);
  }
  const bool rows_dense =
      (out.strides[1] == 1 || s.n == 1) && (out.strides[0] >= std::max<int64_t>(1, s.n) || s.m == 1);
  const bool columns_dense =
      (out.strides[0] == 1 || s.m == 1) && (out.strides[1] >= std::max<int64_t>(1, s.m) || s.n == 1);
  if (!rows_dense && columns_dense) {  // out^T = b^T a^T is row-major
    int64_t sizes[3][2], strides[3][2];
    return blas_product(transposed(b, sizes[0], strides[0]), transposed(a, sizes[1], strides[1]),
                        transposed(out, sizes[2], strides[2]), Shape{s.n, s.m, s.k}, alpha, beta);
  }
  std::optional<Dense> copied_a, copied_b;
  const blas::Matrix left = as_matrix<T>(a, copied_a), right = as_matrix<T>(b, copied_b);
  if (rows_dense) {
    const int64_t leading = s.m == 1 ? std::max<int64_t>(1, s.n) : out.strides[0];
    return sliced_gemm<T>(s, alpha, left, right, beta, out.as<T>(), leading);
  }
  const Dense result(out, dtype_of<T>, beta == T(0) ? Access::write : Access::update);
  sliced_gemm<T>(s, alpha, left, right, beta, result.view().as<T>(), s.n);
  result.store();
}

// Half types multiply in float; one rounding at the end.
template <class T>
void half_product(const View& a, const View& b, const View& out, Shape s, float alpha, float beta) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const PairTiles* tiles = pair_tiles();
    if (tiles && !worth_pairing(s.m, s.n, s.k) && worth_pairing(s.n, s.m, s.k)) {  // too few columns, as rows
      int64_t sizes[3][2], strides[3][2];
      return half_product<T>(transposed(b, sizes[0], strides[0]), transposed(a, sizes[1], strides[1]),
                             transposed(out, sizes[2], strides[2]), {s.n, s.m, s.k}, alpha, beta);
    }
    if (tiles && worth_pairing(s.m, s.n, s.k)) {
      std::optional<Dense> turned;
      if (a.strides[1] != 1) turned.emplace(a, a.dtype, Access::read);
      return pair_product(*tiles, s.m, s.n, s.k, alpha, as_factor(turned ? turned->view() : a), as_factor(b),
                          beta, {out.as<T>(), out.strides[0], out.strides[1]});
    }
  }
  const Dense result(out, DType::float32, beta == 0.0f ? Access::write : Access::update);
  if (worth_packing(s.m, s.n, s.k)) {
    packed_product<float>(s.m, s.n, s.k, alpha, as_factor(a), as_factor(b), beta,
                          {result.view().as<float>(), s.n, 1});
  } else {
    const Dense left(a, DType::float32, Access::read), right(b, DType::float32, Access::read);
    blas_product<float>(left.view(), right.view(), result.view(), s, alpha, beta);
  }
  result.store();
}

// z[rows, n] = x[rows, k] @ y[k, n] of integers, dense; sums wrap as in PyTorch. A tile of kRows rows and two vectors of
// columns stays in registers while the k steps pass.
template <class T>
struct IntegerTiles {
  using U = std::make_unsigned_t<T>;
  typedef U Lanes __attribute__((vector_size(64)));
  static constexpr int64_t kRows = 4, kLanes = 64 / sizeof(T), kColumns = 2 * kLanes;

  template <int64_t kHeight>
  [[gnu::always_inline]] static inline void tile(const T* x, const T* y, T* z, int64_t n, int64_t k) {
    Lanes sums[kHeight][2] = {};
    for (int64_t p = 0; p < k; ++p) {
      Lanes row[2];
      __builtin_memcpy(row, y + p * n, sizeof(row));
      for (int64_t i = 0; i < kHeight; ++i) {
        const U factor = U(x[i * k + p]);
        sums[i][0] += row[0] * factor;
        sums[i][1] += row[1] * factor;
      }
    }
    for (int64_t i = 0; i < kHeight; ++i) __builtin_memcpy(z + i * n, sums[i], sizeof(sums[i]));
  }
  // What is left of the columns: rows of y are added up.
  [[gnu::always_inline]] static inline void edge(const T* x, const T* y, T* z, int64_t columns, int64_t n,
                                                 int64_t k) {
    T sums[kColumns] = {};
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < columns; ++j) sums[j] = math::add(sums[j], math::mul(x[p], y[p * n + j]));
    std::copy_n(sums, columns, z);
  }
  [[gnu::always_inline]] static inline void run(const T* x, const T* y, T* z, int64_t rows, int64_t n,
                                                int64_t k) {
    if (n == 1) {  // y is as dense as a row of x
      for (int64_t i = 0; i < rows; ++i) {
        U sum = 0;
        for (int64_t p = 0; p < k; ++p) sum = U(sum + U(x[i * k + p]) * U(y[p]));
        z[i] = T(sum);
      }
      return;
    }
    int64_t column = 0;
    for (; column + kColumns <= n; column += kColumns) {
      int64_t i = 0;
      for (; i + kRows <= rows; i += kRows) tile<kRows>(x + i * k, y + column, z + i * n + column, n, k);
      for (; i < rows; ++i) tile<1>(x + i * k, y + column, z + i * n + column, n, k);
    }
    for (int64_t i = 0; i < rows && column < n; ++i)
      edge(x + i * k, y + column, z + i * n + column, n - column, n, k);
  }
};
template <class T>
void integer_product(const View& a, const View& b, const View& out, Shape s, T alpha, T beta) {
  if (TinyProducts<T>::fits(s.m, s.n, s.k)) return tiny_products<T>(a, b, out, 0, 0, 1, s, alpha, beta);
  if (s.n == 1 && s.m > 1 && a.strides[0] == 1 &&
      a.strides[1] != 1) {  // columns of a are added up along memory
    int64_t sizes[3][2], strides[3][2];
    return integer_product(transposed(b, sizes[0], strides[0]), transposed(a, sizes[1], strides[1]),
                           transposed(out, sizes[2], strides[2]), Shape{1, s.m, s.k}, alpha, beta);
  }
  const DenseInput<T> dense_a(a), dense_b(b);
  const Temporary result(out, dtype_of<T>);  // not out itself, which is read again for beta
  const T *x = dense_a.data(), *y = dense_b.data();
  T* z = result.view().as<T>();
  const int64_t rows = std::max(IntegerTiles<T>::kRows, kGrain / std::max<int64_t>(1, s.n * s.k));
  parallel_for(0, s.m, rows, [&](int64_t begin, int64_t end) {
    at_level<IntegerTiles<T>>(x + begin * s.k, y, z + begin * s.n, end - begin, s.n, s.k);
    if (alpha == T(1) && beta == T(0)) return;
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        T& value = z[i * s.n + j];
        value = math::mul(alpha, value);
        if (beta != T(0))
          value = math::add(value, math::mul(beta, out.as<T>()[i * out.strides[0] + j * out.strides[1]]));
      }
    }
  });
  copy(result.view(), out);
}

template <class T>
void scale(const View& out, T beta) {
  for (int64_t i = 0; i < out.sizes[0]; ++i) {
    for (int64_t j = 0; j < out.sizes[1]; ++j) {
      T& x = out.as<T>()[i * out.strides[0] + j * out.strides[1]];
      using C = compute_t<T>;
      x = cast<T>(beta == T(0) ? C(0) : math::mul(C(beta), C(x)));
    }
  }
}

// A product one of whose sides is a vector: a @ b or, as one of its transposes, b^T @ a^T.
void vector_product(const View& a, const View& b, const View& out, Shape s, double alpha, double beta) {
  if (s.n == 1) {
    const View x{b.data, b.sizes, b.strides, 1, b.dtype}, y{out.data, out.sizes, out.strides, 1, out.dtype};
    return matrix_vector(a, x, y, alpha, beta);
  }
  int64_t sizes[2], strides[2];
  const View x{a.data, a.sizes + 1, a.strides + 1, 1, a.dtype};
  const View y{out.data, out.sizes + 1, out.strides + 1, 1, out.dtype};
  matrix_vector(transposed(b, sizes, strides), x, y, alpha, beta);
}

// Of a product one of whose sides is a vector: whether it has loops of its own.
bool worth_lines(Shape s, const View& a, const View& b) {
  if (s.m != 1 && s.n != 1) return false;
  return s.m * s.n * s.k > kWorthLines || (s.k > kWorthLine && (s.n == 1 ? a.strides[1] : b.strides[0]) == 1);
}

// Whether rows are so few and short that they have a product of their own, one column wide or more.
template <class T>
bool narrow(Shape s, const View& out) {
  if constexpr (std::is_floating_point_v<T>) {
    const Result<T> result{out.as<T>(), out.strides[0], out.strides[1]};
    return s.m > 1 && s.n > 1 &&
           (NarrowProduct<T>::fits(s.m, s.n, s.k, result) ||
            NarrowProduct<T>::fits(s.n, s.m, s.k, result.transposed()));
  }
  return false;
}

// Elements [begin, end) of a result with rows of `columns`: z[i, j] = alpha * y[i] * x[j] + beta * z[i, j]. Rows follow each
// other in one loop: see for_each_row_in.
template <class T>
struct OuterRows {
  using C = compute_t<T>;
  [[gnu::always_inline]] static inline void run(C alpha, const C* y, const C* x, int64_t columns,
                                                int64_t begin, int64_t end, C beta, T* z, int64_t row_step,
                                                int64_t step) {
    int64_t row = begin / columns, first = begin % columns;
    for (int64_t left = end - begin; left > 0; ++row, first = 0) {
      const int64_t n = columns - first < left ? columns - first : left;
      one(math::mul(alpha, y[row]), x + first, n, beta, z + row * row_step + first * step, step);
      left -= n;
    }
  }
  [[gnu::always_inline]] static inline void one(C factor, const C* x, int64_t n, C beta, T* z, int64_t step) {
    if (step != 1) {
      for (int64_t j = 0; j < n; ++j) z[j * step] = with(math::mul(factor, x[j]), beta, z[j * step]);
    } else if (beta == C(0)) {
#pragma GCC ivdep
      for (int64_t j = 0; j < n; ++j) z[j] = cast<T>(math::mul(factor, x[j]));
    } else {
#pragma GCC ivdep
      for (int64_t j = 0; j < n; ++j)
        z[j] = cast<T>(math::add(math::mul(factor, x[j]), math::mul(beta, C(z[j]))));
    }
  }
  [[gnu::always_inline]] static inline T with(C value, C beta, T before) {
    return cast<T>(beta == C(0) ? value : math::add(value, math::mul(beta, C(before))));
  }
};

// One column times one row: nothing is added up, so rows of the result are written along memory.
template <class T>
void outer_product(const View& a, const View& b, const View& out, Shape s, compute_t<T> alpha,
                   compute_t<T> beta) {
  using C = compute_t<T>;
  const bool turned = s.n == 1 || (s.m > 1 && out.strides[1] != 1 && out.strides[0] == 1);
  const DenseInput<C> factors(turned ? b : a), line(turned ? a : b);
  const int64_t columns = line.numel();
  const int64_t row_step = out.strides[turned ? 1 : 0], step = out.strides[turned ? 0 : 1];
  parallel_for(0, factors.numel() * columns, kGrain, [&](int64_t begin, int64_t end) {
    at_level<OuterRows<T>>(alpha, factors.data(), line.data(), columns, begin, end, beta, out.as<T>(),
                           row_step, step);
  });
}

// A row times a column of complex numbers, parts side by side. What parts of one kind make is added up apart from what
// a real and an imaginary one make.
template <class R>
struct ComplexDot {
  typedef R Lanes __attribute__((vector_size(32)));
  static constexpr int64_t kLanes = 32 / int64_t(sizeof(R)), kTogether = 4;
  [[gnu::always_inline]] static inline void run(const R* x, const R* y, int64_t n, double* sums) {
    Lanes alike[kTogether] = {}, across[kTogether] = {};
    int64_t i = 0;
    for (; i + kTogether * kLanes <= 2 * n; i += kTogether * kLanes) {
      for (int64_t j = 0; j < kTogether; ++j) {
        Lanes left, right;
        __builtin_memcpy(&left, x + i + j * kLanes, sizeof(left));
        __builtin_memcpy(&right, y + i + j * kLanes, sizeof(right));
        alike[j] += left * right;
        Lanes exchanged;
        exchange_parts(right, exchanged);
        across[j] += left * exchanged;
      }
    }
    const Lanes of_alike = (alike[0] + alike[1]) + (alike[2] + alike[3]);
    const Lanes of_across = (across[0] + across[1]) + (across[2] + across[3]);
    for (int64_t l = 0; l < kLanes; l += 2) {
      sums[0] += double(of_alike[l] - of_alike[l + 1]);
      sums[1] += double(of_across[l] + of_across[l + 1]);
    }
    for (; i < 2 * n; i += 2) {
      sums[0] += double(x[i] * y[i] - x[i + 1] * y[i + 1]);
      sums[1] += double(x[i] * y[i + 1] + x[i + 1] * y[i]);
    }
  }
};
template <class T>
T complex_dot(const T* x, int64_t x_step, const T* y, int64_t y_step, int64_t n) {
  using R = typename T::value_type;
  constexpr int64_t kSpan = 512;
  T copied[2][kSpan];
  double sums[2] = {};
  const auto dense = [](const T* from, int64_t step, int64_t count, T* to) {
    if (step == 1) return reinterpret_cast<const R*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
    return reinterpret_cast<const R*>(to);
  };
  for (int64_t i = 0; i < n; i += kSpan) {
    const int64_t count = std::min(kSpan, n - i);
    at_level<ComplexDot<R>, const R*, const R*, int64_t, double*>(
        dense(x + i * x_step, x_step, count, copied[0]), dense(y + i * y_step, y_step, count, copied[1]),
        count, sums);
  }
  return T(R(sums[0]), R(sums[1]));
}
template <class T>
void complex_row_by_column(const View& a, const View& b, const View& out, int64_t k, T alpha, T beta) {
  const int64_t pieces = std::clamp<int64_t>(k / kGrain, 1, 64), each = (k + pieces - 1) / pieces;
  std::vector<T> sums(static_cast<size_t>(pieces));
  parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = std::min(k, i * each), n = std::min(each, k - first);
      sums[size_t(i)] = complex_dot(a.as<T>() + first * a.strides[1], a.strides[1],
                                    b.as<T>() + first * b.strides[0], b.strides[0], n);
    }
  });
  T sum = 0;
  for (const T& part : sums) sum += part;
  T& to = *out.as<T>();
  to = beta == T(0) ? math::mul(alpha, sum) : math::add(math::mul(alpha, sum), math::mul(beta, to));
}

void product(const View& a, const View& b, const View& out, Shape s, const Scalar& alpha, const Scalar& beta,
             const char* name) {
  if (s.m == 0 || s.n == 0) return;
  dispatch<domains::numeric>(out.dtype, name, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (s.k == 0 || alpha.to<compute_t<T>>() == compute_t<T>(0)) return scale<T>(out, beta.to<T>());
    if (s.k == 1 && s.m * s.n > kWorthLines && !narrow<T>(s, out))
      return outer_product<T>(a, b, out, s, alpha.to<compute_t<T>>(), beta.to<compute_t<T>>());
    if constexpr (is_half_v<T> || std::is_floating_point_v<T>) {
      if (worth_lines(s, a, b)) return vector_product(a, b, out, s, alpha.to<double>(), beta.to<double>());
    }
    if constexpr (is_complex_v<T>) {
      if (s.m == 1 && s.n == 1) return complex_row_by_column<T>(a, b, out, s.k, alpha.to<T>(), beta.to<T>());
    }
    if constexpr (is_half_v<T>) half_product<T>(a, b, out, s, alpha.to<float>(), beta.to<float>());
    else if constexpr (std::is_integral_v<T>) integer_product<T>(a, b, out, s, alpha.to<T>(), beta.to<T>());
    else blas_product<T>(a, b, out, s, alpha.to<T>(), beta.to<T>());
  });
}

}  // namespace

void gemm(const View& a, const View& b, const View& out, const Scalar& alpha, const Scalar& beta) {
  product(a, b, out, check_shapes(a, b, out, "addmm", 0), alpha, beta, "addmm_impl_cpu_");
}

void bmm(const View& a, const View& b, const View& out, const Scalar& alpha, const Scalar& beta) {
  const Shape s = check_shapes(a, b, out, "bmm", 1);
  const int64_t batch = out.sizes[0];
  MT_CHECK(a.sizes[0] == batch && b.sizes[0] == batch, "bmm: batch sizes must agree, got ", a.sizes[0], ", ",
           b.sizes[0], " and a result of ", batch);
  if (s.m == 1 && s.n == 1 && s.k > 0 && contains(domains::floating, out.dtype) && alpha.to<double>() != 0)
    return row_products(a, b, out, alpha.to<double>(), beta.to<double>());
  const auto matrix = [](const View& view, int64_t i) {
    return View{view.as<char>() + i * view.strides[0] * int64_t(itemsize(view.dtype)), view.sizes + 1,
                view.strides + 1, 2, view.dtype};
  };
  // Products too small to be worth two threads are spread over them here; larger ones follow one another, each on all.
  const int64_t work = std::max<int64_t>(1, s.m * s.n * s.k);
  const int64_t grain =
      work > (int64_t(1) << 21) ? std::max<int64_t>(batch, 1) : std::max<int64_t>(1, 8 * kGrain / work);
  parallel_for(0, batch, grain, [&](int64_t begin, int64_t end) {
    dispatch<domains::numeric>(out.dtype, "bmm", [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (!is_half_v<T>) {
        if (s.m * s.n * s.k > 0 && TinyProducts<T>::fits(s.m, s.n, s.k) && alpha.to<T>() != T(0))
          return tiny_products<T>(a, b, out, 1, begin, end - begin, s, alpha.to<T>(), beta.to<T>());
      }
      for (int64_t i = begin; i < end; ++i)
        product(matrix(a, i), matrix(b, i), matrix(out, i), s, alpha, beta, "bmm");
    });
  });
}

}  // namespace mt::kernels
