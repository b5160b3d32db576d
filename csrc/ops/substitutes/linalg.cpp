// LU decomposition and what follows from it, made of elementwise operators, gather and triangular solves; what follows
// from singular values, and reflections, made of the decompositions that a device has.
//
// Note [LU on a device]
// Vendors' libraries for neural networks invert and solve triangles but give no LU factors, which determinants,
// solves and their gradients need. Columns are eliminated one after the other with LAPACK's pivots; every step is
// enqueued, so the host does not wait, but a matrix of n columns costs some fifteen launches for each of them.
#include "generated/ops/substitutes/linalg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/linalg.h"
#include "generated/ops/matmul.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/shape.h"
#include "generated/ops/sort.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "infer/infer.h"
#include "infer/matrices.h"

namespace mt::substitutes {
namespace {

Tensor row_numbers(int64_t rows, const Tensor& beside) {
  return ops::arange(Scalar(rows), TensorOptions{DType::int64, beside.device()});
}
IntList batch_of(const Tensor& t, size_t last = 2) { return t.sizes().first(size_t(t.dim()) - last); }

Dims with_sizes(IntList batch, std::initializer_list<int64_t> last) {
  Dims sizes(batch);
  for (int64_t size : last) sizes.push_back(size);
  return sizes;
}

// Rows of every matrix in the order that `order` gives.
Tensor rows_in_order(const Tensor& matrix, const Tensor& order) {
  return ops::gather(matrix, -2, ops::expand(ops::unsqueeze(order, -1), matrix.sizes()));
}
Tensor adjoint_of(const Tensor& t) { return ops::conj_physical(ops::transpose(t, -2, -1)); }

// What LAPACK compares pivots by: of complex numbers not the length, but the sum of both parts' sizes.
Tensor weight_of(const Tensor& numbers) {
  if (!is_complex(numbers.dtype())) return ops::abs(numbers);
  return ops::sum(ops::abs(ops::view_as_real(numbers)), DimList(-1));
}

// Entries `first` (a number) and `second` (a place in each list) change places.
Tensor swapped(const Tensor& list, const Tensor& numbers, int64_t first, const Tensor& second) {
  const Tensor place = ops::unsqueeze(second, -1);
  const Tensor at_first = ops::narrow(list, -1, first, 1), at_second = ops::gather(list, -1, place);
  const Tensor rest = ops::where(ops::eq(numbers, place), at_first, list);
  return ops::where(ops::eq(numbers, Scalar(first)), at_second, rest);
}

// The row of the matrix that each row of the triangular factors came from.
Tensor order_of(const Tensor& pivots, int64_t rows) {
  const Tensor numbers = row_numbers(rows, pivots);
  Tensor order = ops::expand(numbers, with_sizes(batch_of(pivots, 1), {rows}));
  const Tensor places = ops::sub(ops::_to_copy(pivots, DType::int64), Scalar(1));
  for (int64_t i = 0; i < pivots.size(-1); ++i)
    order = swapped(order, numbers, i, ops::select(places, -1, i));
  return order;
}

// -1 for every exchange of rows.
Tensor sign_of(const Tensor& pivots, DType dtype) {
  const Tensor unmoved = ops::add(row_numbers(pivots.size(-1), pivots), Scalar(1));
  const Tensor moves = ops::sum(ops::ne(pivots, unmoved), DimList(-1));
  return ops::_to_copy(ops::sub(Scalar(1), ops::mul(ops::remainder(moves, Scalar(2)), Scalar(2))), dtype);
}

// Entry `first` (or the one behind it, where `behind`) and entry `second` of each list of rows change places.
Tensor swapped_rows(const Tensor& matrix, int64_t first, const Tensor& behind, const Tensor& second) {
  const int64_t rows = matrix.size(-2);
  const Tensor numbers = row_numbers(rows, matrix);
  const Tensor same = ops::expand(numbers, with_sizes(batch_of(matrix), {rows}));
  const Tensor later = swapped(same, numbers, std::min(first + 1, rows - 1), second);
  const Tensor order = ops::where(ops::unsqueeze(behind, -1), later, swapped(same, numbers, first, second));
  return rows_in_order(matrix, order);
}

// What lies across the diagonal from `t`.
Tensor mirrored(const Tensor& t, bool hermitian) { return hermitian ? ops::conj_physical(t) : t; }

// The hermitian matrix that one of the triangles stands for.
Tensor from_triangle(const Tensor& A, bool upper) {
  const Tensor rest = upper ? ops::triu(A, 1) : ops::tril(A, -1);
  return ops::add(upper ? ops::triu(A) : ops::tril(A), adjoint_of(rest));
}

// V 1/S U^H, without the singular values up to `limit`.
Tensor inverse_of_parts(const Tensor& U, const Tensor& S, const Tensor& Vh, const Tensor& limit) {
  const Tensor inverse = ops::where(ops::gt(S, limit), ops::reciprocal(S), Scalar(0));
  return ops::matmul(ops::mul(adjoint_of(Vh), ops::unsqueeze(inverse, -2)), adjoint_of(U));
}

// Column `k` of reflections as LAPACK stores them: ones on the diagonal, which it leaves out.
Tensor unit_columns(const Tensor& reflections) {
  const TensorOptions options{reflections.dtype(), reflections.device()};
  const Tensor ones = ops::eye(reflections.size(-2), reflections.size(-1), options);
  return ops::add(ops::tril(reflections, -1), ones);
}

Tensor reflected(const Tensor& matrix, const Tensor& unit, const Tensor& tau, int64_t k) {
  const Tensor v = ops::narrow(unit, -1, k, 1);
  const Tensor scaled = ops::mul(v, ops::unsqueeze(ops::narrow(tau, -1, k, 1), -1));
  return ops::sub(matrix, ops::matmul(scaled, ops::matmul(adjoint_of(v), matrix)));
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lu_factor(const Tensor& A, bool pivot) {
  const int64_t rows = A.size(-2), columns = A.size(-1), steps = std::min(rows, columns);
  const IntList batch = batch_of(A, 2);
  const Tensor numbers = row_numbers(rows, A);
  const TensorOptions int32{DType::int32, A.device()};
  const Tensor pivots = ops::zeros(with_sizes(batch, {steps}), int32);
  Tensor LU = ops::clone(A, MemoryFormat::contiguous), info = ops::zeros(batch, int32);
  for (int64_t k = 0; k < steps; ++k) {
    Tensor chosen = ops::full(batch, Scalar(k), TensorOptions{DType::int64, A.device()});
    if (pivot) {
      const Tensor candidates = ops::select(ops::narrow(LU, -2, k, rows - k), -1, k);
      chosen = ops::add(ops::argmax(weight_of(candidates), -1), Scalar(k));
      const Tensor same = ops::expand(numbers, with_sizes(batch, {rows}));
      LU = rows_in_order(LU, swapped(same, numbers, k, chosen));
    }
    ops::copy_(ops::select(pivots, -1, k), ops::add(chosen, Scalar(1)));
    const Tensor row = ops::select(LU, -2, k), head = ops::narrow(row, -1, k, 1);
    const Tensor zero = ops::eq(head, Scalar(0));
    const Tensor first_zero = ops::logical_and(ops::squeeze(zero, -1), ops::eq(info, Scalar(0)));
    info = ops::where(first_zero, Scalar(k + 1), info);
    if (k + 1 == rows) continue;
    const Tensor below = ops::narrow(LU, -2, k + 1, rows - k - 1), column = ops::select(below, -1, k);
    ops::copy_(column, ops::div(column, ops::where(zero, Scalar(1), head)));
    if (k + 1 == columns) continue;
    const Tensor rest = ops::narrow(below, -1, k + 1, columns - k - 1);
    const Tensor right = ops::unsqueeze(ops::narrow(row, -1, k + 1, columns - k - 1), -2);
    ops::copy_(rest, ops::sub(rest, ops::mul(ops::unsqueeze(column, -1), right)));
  }
  return {LU, pivots, info};
}

Tensor permutation(const Tensor& pivots, int64_t rows, DType dtype) {
  const Tensor order = ops::unsqueeze(order_of(pivots, rows), -2);
  return ops::_to_copy(ops::eq(ops::unsqueeze(row_numbers(rows, pivots), -1), order), dtype);
}

// A = P L U: the rows of B are put in order, then two triangles are solved; the other way around for A's adjoint.
Tensor lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) {
  if (!left) return adjoint_of(lu_solve(LU, pivots, adjoint_of(B), true, !adjoint));
  const Dims batch = infer::broadcast(batch_of(LU, 2), batch_of(B, 2));
  const int64_t rows = LU.size(-1);
  const Tensor order = ops::expand(order_of(pivots, rows), with_sizes(batch, {rows}));
  const Tensor known = ops::expand(B, with_sizes(batch, {rows, B.size(-1)}));
  if (!adjoint) {
    const Tensor half = ops::_linalg_solve_triangular(LU, rows_in_order(known, order), false, true, true);
    return ops::_linalg_solve_triangular(LU, half, true, true, false);
  }
  const Tensor turned = adjoint_of(LU);
  const Tensor half = ops::_linalg_solve_triangular(turned, known, false, true, false);
  const Tensor moved = ops::_linalg_solve_triangular(turned, half, true, true, true);
  return rows_in_order(moved, ops::argsort(order, -1, false));
}

std::tuple<Tensor, Tensor, Tensor, Tensor> solve(const Tensor& A, const Tensor& B, bool left) {
  const auto [LU, pivots, info] = ops::_linalg_lu_factor(A, true);
  const bool vector = infer::is_vector_side(A, B);
  const Tensor solution = ops::_linalg_lu_solve(LU, pivots, vector ? ops::unsqueeze(B, -1) : B, left, false);
  return {vector ? ops::squeeze(solution, -1) : solution, LU, pivots, info};
}

Tensor cholesky_inverse(const Tensor& self, bool upper) {
  const int64_t rows = self.size(-1);
  const Tensor identity = ops::eye(rows, TensorOptions{self.dtype(), self.device()});
  const Tensor half =
      ops::_linalg_solve_triangular(self, ops::expand(identity, self.sizes()), upper, true, false);
  return upper ? ops::matmul(half, adjoint_of(half)) : ops::matmul(adjoint_of(half), half);
}

std::tuple<Tensor, Tensor, Tensor> det(const Tensor& A) {
  const auto [LU, pivots, info] = ops::_linalg_lu_factor(A, true);
  const Tensor product = ops::prod(ops::diagonal(LU, 0, -2, -1), DimList(-1));
  return {ops::mul(product, sign_of(pivots, A.dtype())), LU, pivots};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> slogdet(const Tensor& A) {
  const auto [LU, pivots, info] = ops::_linalg_lu_factor(A, true);
  const Tensor diagonal = ops::diagonal(LU, 0, -2, -1);
  const Tensor sign = ops::mul(ops::prod(ops::sgn(diagonal), DimList(-1)), sign_of(pivots, A.dtype()));
  return {sign, ops::sum(ops::log(ops::abs(diagonal)), DimList(-1)), LU, pivots};
}

// A = P L D L' P', with L' the transpose or adjoint, by the pivots of Bunch and Kaufman, which LAPACK takes: a block of
// two columns where no element of the diagonal is large enough. Which it is differs from matrix to matrix, so both are
// computed for every column, and nothing for one that is the second of its block (`taken`). A row and a column of
// zeros behind the last spare the end a case of its own.
std::tuple<Tensor, Tensor, Tensor> ldl_factor(const Tensor& self, bool hermitian) {
  const double alpha = (1 + std::sqrt(17.0)) / 8;
  const int64_t size = self.size(-1);
  const IntList batch = batch_of(self);
  const TensorOptions same{self.dtype(), self.device()}, int32{DType::int32, self.device()};
  Tensor info = ops::zeros(batch, int32);
  if (size == 0) return {ops::zeros(self.sizes(), same), ops::zeros(with_sizes(batch, {0}), int32), info};
  const Tensor lower = ops::tril(self),
               turned = mirrored(ops::transpose(ops::tril(self, -1), -2, -1), hermitian);
  Tensor W = ops::zeros(with_sizes(batch, {size + 1, size + 1}), same);
  ops::copy_(ops::narrow(ops::narrow(W, -1, 0, size), -2, 0, size), ops::add(lower, turned));
  const Tensor numbers = row_numbers(size + 1, self);
  const auto entry = [](const Tensor& column, int64_t row) { return ops::select(column, -1, row); };
  const auto wide = [](const Tensor& each) { return ops::unsqueeze(each, -1); };
  const auto pivot = [&](const Tensor& column, int64_t row) {
    const Tensor value = entry(column, row);  // of a hermitian matrix it is real
    return hermitian ? ops::mul(ops::add(value, ops::conj_physical(value)), Scalar(0.5)) : value;
  };

  Tensor taken = ops::zeros(batch, {DType::boolean, self.device()}), second_column, second_place;
  std::vector<Tensor> columns, places;
  for (int64_t k = 0; k < size; ++k) {
    const Tensor weights = weight_of(ops::narrow(ops::select(W, -1, k), -1, k + 1, size - k));
    const auto [largest, below] = ops::max(weights, -1);
    const Tensor head = weight_of(pivot(ops::select(W, -1, k), k)), row = ops::add(below, Scalar(k + 1));
    const Tensor whole_row =
        ops::gather(W, -1, ops::expand(wide(wide(row)), with_sizes(batch, {size + 1, 1})));
    const Tensor row_weights = weight_of(ops::squeeze(whole_row, -1));
    const Tensor others = ops::logical_and(ops::ge(numbers, Scalar(k)), ops::ne(numbers, wide(row)));
    const Tensor across = ops::amax(ops::where(others, row_weights, Scalar(0)), DimList(-1));
    const Tensor crossing = ops::squeeze(ops::gather(row_weights, -1, wide(row)), -1);
    const Tensor zero = ops::eq(ops::maximum(head, largest), Scalar(0));
    const Tensor bound = ops::mul(largest, Scalar(alpha));
    const Tensor too_small =
        ops::logical_and(ops::lt(head, bound), ops::lt(ops::mul(head, across), ops::mul(bound, largest)));
    const Tensor moves = ops::logical_and(too_small, ops::logical_not(taken));
    const Tensor two = ops::logical_and(moves, ops::lt(crossing, ops::mul(across, Scalar(alpha))));
    const Tensor stays = ops::add(ops::_to_copy(two, DType::int64), Scalar(k));
    const Tensor place = ops::where(moves, row, stays);
    W = swapped_rows(W, k, two, place);
    W = ops::transpose(swapped_rows(ops::transpose(W, -2, -1), k, two, place), -2, -1);

    const Tensor left = ops::select(W, -1, k), right = ops::select(W, -1, k + 1);
    const Tensor a = wide(pivot(left, k)), b = wide(entry(left, k + 1)), c = wide(pivot(right, k + 1));
    const Tensor across_b = mirrored(b, hermitian), pair = wide(two);
    const Tensor det = ops::sub(ops::mul(a, c), ops::mul(b, across_b));
    const Tensor idle = wide(ops::logical_or(taken, zero));
    const Tensor after = ops::logical_and(ops::gt(numbers, wide(stays)), ops::logical_not(idle));
    const auto by = [&](const Tensor& x, const Tensor& p, const Tensor& y, const Tensor& q) {
      return ops::div(ops::sub(ops::mul(x, p), ops::mul(y, q)), det);
    };
    const Tensor first = ops::where(pair, by(left, c, right, b), ops::div(left, a));
    const Tensor L1 = ops::where(after, first, Scalar(0));
    const Tensor L2 = ops::where(ops::logical_and(after, pair), by(right, a, left, across_b), Scalar(0));
    const auto outer = [&](const Tensor& factor, const Tensor& column) {
      return ops::mul(wide(factor), ops::unsqueeze(mirrored(column, hermitian), -2));
    };
    W = ops::sub(W, ops::add(outer(L1, left), outer(L2, right)));

    const Tensor block = ops::logical_and(pair, ops::eq(numbers, Scalar(k + 1)));
    const Tensor made = ops::where(ops::eq(numbers, Scalar(k)), a, ops::where(block, b, L1));
    const Tensor number = ops::add(place, Scalar(1)), marked = ops::where(two, ops::neg(number), number);
    columns.push_back(k == 0 ? made : ops::where(wide(taken), second_column, made));
    places.push_back(k == 0 ? marked : ops::where(taken, second_place, marked));
    second_column = ops::where(ops::eq(numbers, Scalar(k + 1)), c, L2);
    second_place = marked;
    const Tensor fails =
        ops::logical_and(ops::logical_and(zero, ops::logical_not(taken)), ops::eq(info, Scalar(0)));
    info = ops::where(fails, Scalar(k + 1), info);
    taken = two;
  }
  return {ops::narrow(ops::stack(columns, -1), -2, 0, size),
          ops::_to_copy(ops::stack(places, -1), DType::int32), info};
}

// Forward through L with its exchanges of rows, through D, and back.
Tensor ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
  const Dims batch = infer::broadcast(batch_of(LD), batch_of(B));
  const int64_t size = LD.size(-1);
  if (size == 0 || B.numel() == 0)
    return ops::zeros(with_sizes(batch, {size, B.size(-1)}), {B.dtype(), B.device()});
  const Tensor numbers = row_numbers(size, LD), rows = ops::_to_copy(pivots, DType::int64);
  const Tensor negative = ops::lt(rows, Scalar(0)), places = ops::sub(ops::abs(rows), Scalar(1));
  std::vector<Tensor> firsts, seconds, lower;  // of blocks of two, by column; columns of L without D
  for (int64_t k = 0; k < size; ++k) {
    const Tensor marked = ops::select(negative, -1, k);
    seconds.push_back(k == 0 ? ops::zeros_like(marked) : ops::logical_and(marked, firsts.back()));
    firsts.push_back(ops::logical_and(marked, ops::logical_not(seconds.back())));
    const Tensor from = ops::unsqueeze(ops::add(ops::_to_copy(firsts.back(), DType::int64), Scalar(k)), -1);
    lower.push_back(ops::where(ops::gt(numbers, from), ops::select(LD, -1, k), Scalar(0)));
  }
  Tensor X = ops::expand(B, with_sizes(batch, {size, B.size(-1)}));
  const auto exchange = [&](int64_t k) {
    const Tensor stays = ops::where(seconds[size_t(k)], Scalar(k), ops::select(places, -1, k));
    const Dims each(batch);
    X = swapped_rows(X, k, ops::expand(firsts[size_t(k)], each), ops::expand(stays, each));
  };
  for (int64_t k = 0; k < size; ++k) {
    exchange(k);
    X = ops::sub(X, ops::mul(ops::unsqueeze(lower[size_t(k)], -1), ops::narrow(X, -2, k, 1)));
  }

  const Tensor first = ops::unsqueeze(ops::stack(firsts, -1), -1),
               second = ops::unsqueeze(ops::stack(seconds, -1), -1);
  const Tensor d = ops::unsqueeze(ops::diagonal(LD, 0, -2, -1), -1);
  // The elements below the diagonal's; the last row has none, and is not asked for it.
  const Tensor e = ops::unsqueeze(ops::diagonal(ops::roll(LD, Dims{-1}, Dims{-2}), 0, -2, -1), -1);
  const auto shifted = [](const Tensor& t, int64_t by) { return ops::roll(t, Dims{by}, Dims{-2}); };
  const auto by_block = [&](const Tensor& other, const Tensor& off, const Tensor& factor, int64_t by) {
    const Tensor det = ops::sub(ops::mul(d, other), ops::mul(off, mirrored(off, hermitian)));
    return ops::div(ops::sub(ops::mul(other, X), ops::mul(factor, shifted(X, by))), det);
  };
  const Tensor in_first = by_block(shifted(d, -1), e, mirrored(e, hermitian), -1);
  const Tensor in_second = by_block(shifted(d, 1), shifted(e, 1), shifted(e, 1), 1);
  X = ops::where(first, in_first, ops::where(second, in_second, ops::div(X, d)));

  for (int64_t k = size - 1; k >= 0; --k) {
    const Tensor row = ops::unsqueeze(mirrored(lower[size_t(k)], hermitian), -2);
    const Tensor at = ops::eq(ops::unsqueeze(numbers, -1), Scalar(k));
    X = ops::sub(X, ops::where(at, ops::matmul(row, X), Scalar(0)));
    exchange(k);
  }
  return X;
}

// The singular values of a hermitian matrix are the sizes of its eigenvalues.
Tensor pinv(const Tensor& A, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  if (A.numel() == 0)
    return ops::zeros(with_sizes(batch_of(A), {A.size(-1), A.size(-2)}), {A.dtype(), A.device()});
  const auto [U, S, Vh] = ops::_linalg_svd(hermitian ? from_triangle(A, false) : A, false, true);
  const Tensor limit = ops::maximum(atol, ops::mul(rtol, ops::select(S, -1, 0)));
  return inverse_of_parts(U, S, Vh, ops::unsqueeze(limit, -1));
}

// A shift by its norm makes the matrix positive, and the singular values its eigenvalues, the largest first.
std::tuple<Tensor, Tensor> eigh(const Tensor& A, std::string_view UPLO, bool compute_v) {
  MT_CHECK_AS(not_implemented, !is_complex(A.dtype()), "linalg.eigh: complex matrices are not supported on ",
              to_string(A.device()), ". Use x.cpu().");
  const Tensor whole = from_triangle(A, UPLO == "U" || UPLO == "u");
  const int64_t side = A.size(-1);
  const Tensor none = ops::zeros(Dims{0}, {A.dtype(), A.device()});
  if (A.numel() == 0)
    return {ops::zeros(A.sizes().first(size_t(A.dim()) - 1), {A.dtype(), A.device()}), compute_v ? A : none};
  const Tensor norm = ops::amax(ops::sum(ops::abs(whole), DimList(-1)), DimList(-1), true);
  const Tensor shift = ops::mul(ops::eye(side, {A.dtype(), A.device()}), ops::unsqueeze(norm, -1));
  const auto [U, S, Vh] = ops::_linalg_svd(ops::add(whole, shift), false, true);
  const Tensor values = ops::flip(ops::sub(S, norm), Dims{-1});
  return {values, compute_v ? ops::flip(U, Dims{-1}) : none};
}

std::tuple<Tensor, Tensor, Tensor> lstsq(const Tensor& A, const Tensor& B, double rcond,
                                         std::string_view driver) {
  const Dims batch = infer::broadcast(batch_of(A), batch_of(B));
  const auto [U, S, Vh] =
      ops::_linalg_svd(ops::expand(A, with_sizes(batch, {A.size(-2), A.size(-1)})), false, true);
  const Tensor limit = ops::mul(ops::narrow(S, -1, 0, std::min<int64_t>(1, S.size(-1))), Scalar(rcond));
  const Tensor rank = ops::sum(ops::gt(S, limit), DimList(-1));
  const Tensor solution = ops::matmul(inverse_of_parts(U, S, Vh, limit), B);
  const bool with_values = driver == "gelsd" || driver == "gelss";
  return {solution, driver == "gels" ? ops::zeros(Dims{0}, {DType::int64, A.device()}) : rank,
          with_values ? S : ops::zeros(Dims{0}, {S.dtype(), A.device()})};
}

Tensor householder_product(const Tensor& input, const Tensor& tau) {
  const TensorOptions options{input.dtype(), input.device()};
  const Tensor unit = unit_columns(input);
  Tensor Q = ops::expand(ops::eye(input.size(-2), input.size(-1), options), input.sizes());
  for (int64_t k = tau.size(-1) - 1; k >= 0; --k) Q = reflected(Q, unit, tau, k);
  return Q;
}

Tensor ormqr(const Tensor& self, const Tensor& tau, const Tensor& other, bool left, bool transpose) {
  if (!left) return adjoint_of(ormqr(self, tau, adjoint_of(other), true, !transpose));
  const Tensor unit = unit_columns(self), factors = transpose ? ops::conj_physical(tau) : tau;
  const int64_t count = tau.size(-1);
  Tensor result = other;
  for (int64_t k = 0; k < count; ++k)
    result = reflected(result, unit, factors, transpose ? k : count - 1 - k);
  return result;
}

// LAPACK's reflections: v = x / (alpha - beta) from its second entry on, where beta has x's length and not alpha's sign.
std::tuple<Tensor, Tensor> geqrf(const Tensor& self) {
  MT_CHECK_AS(not_implemented, !is_complex(self.dtype()), "geqrf: complex matrices are not supported on ",
              to_string(self.device()), ". Use x.cpu().");
  const int64_t rows = self.size(-2), columns = self.size(-1), count = std::min(rows, columns);
  const Tensor tau = ops::zeros(with_sizes(batch_of(self), {count}), {self.dtype(), self.device()});
  Tensor a = ops::clone(self, MemoryFormat::contiguous);
  for (int64_t k = 0; k + 1 < rows && k < columns; ++k) {
    const Tensor column = ops::select(ops::narrow(a, -2, k, rows - k), -1, k);
    const Tensor alpha = ops::narrow(column, -1, 0, 1), rest = ops::narrow(column, -1, 1, rows - k - 1);
    const Tensor squares = ops::sum(ops::mul(rest, rest), DimList(-1), true);
    const Tensor done = ops::eq(squares, Scalar(0));
    const Tensor length = ops::sqrt(ops::add(ops::mul(alpha, alpha), squares));
    const Tensor beta = ops::where(ops::lt(alpha, Scalar(0)), length, ops::neg(length));
    const Tensor divisor = ops::where(done, Scalar(1), ops::sub(alpha, beta));
    const Tensor factor =
        ops::where(done, Scalar(0), ops::div(ops::sub(beta, alpha), ops::where(done, Scalar(1), beta)));
    const Tensor v =
        ops::unsqueeze(ops::cat(std::array{ops::ones_like(alpha), ops::div(rest, divisor)}, -1), -1);
    const Tensor right = ops::narrow(ops::narrow(a, -2, k, rows - k), -1, k + 1, columns - k - 1);
    const Tensor scaled = ops::mul(v, ops::unsqueeze(factor, -1));
    if (k + 1 < columns)
      ops::copy_(right, ops::sub(right, ops::matmul(scaled, ops::matmul(adjoint_of(v), right))));
    ops::copy_(rest, ops::div(rest, divisor));
    ops::copy_(alpha, ops::where(done, alpha, beta));
    ops::copy_(ops::narrow(tau, -1, k, 1), factor);
  }
  return {a, tau};
}

}  // namespace mt::substitutes
