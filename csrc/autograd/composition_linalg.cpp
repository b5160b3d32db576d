// LU decomposition and what follows from it, made of elementwise operators, gather and triangular solves.
//
// Note [LU on a device]
// Vendors' libraries for neural networks invert and solve triangles but give no LU factors, which determinants,
// solves and their gradients need. Columns are eliminated one after the other with LAPACK's pivots; every step is
// enqueued, so the host does not wait, but a matrix of n columns costs some fifteen launches for each of them.
#include "generated/ops/compositions.h"
#include "generated/ops/ops.h"
#include "infer/infer.h"
#include "infer/matrices.h"

namespace mt::composition {
namespace {

Tensor row_numbers(int64_t rows, const Tensor& beside) {
  return ops::arange(Scalar(rows), TensorOptions{DType::int64, beside.device()});
}
IntList batch_of(const Tensor& t, size_t last) { return t.sizes().first(size_t(t.dim()) - last); }
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

}  // namespace mt::composition
