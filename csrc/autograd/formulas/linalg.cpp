#include "autograd/formulas/linalg.h"

#include "autograd/formulas/again.h"

#include <algorithm>
#include <array>
#include <limits>

#include "autograd/formulas/matmul.h"
#include "autograd/node.h"
#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/linalg.h"
#include "generated/ops/matmul.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/shape.h"
#include "generated/ops/view.h"
#include "infer/infer.h"
#include "infer/matrices.h"

namespace mt::formulas {
namespace {

int64_t rows_of(const Tensor& a) { return a.sizes()[size_t(a.dim() - 2)]; }
int64_t columns_of(const Tensor& a) { return a.sizes()[size_t(a.dim() - 1)]; }

Tensor sum_of(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }

// For each place of an m x n matrix: its column's number minus its row's.
Tensor diagonal_numbers(const Tensor& like) {
  const TensorOptions options{DType::int64, like.device()};
  const Tensor rows = ops::unsqueeze(ops::arange(Scalar(rows_of(like)), options), 1);
  return ops::arange(Scalar(columns_of(like)), options) - rows;
}

// A^-1 B and A^-H B for the triangles that decompositions leave.
Tensor solve_upper(const Tensor& A, const Tensor& B) {
  return ops::_linalg_solve_triangular(A, B, true, true, false);
}
Tensor solve_upper_adjoint_right(const Tensor& B, const Tensor& U) {  // B U^-H
  return ops::_linalg_solve_triangular(adjoint_of(U), B, false, false, false);
}
Tensor solve_lower_adjoint(const Tensor& L, const Tensor& B, bool unit) {  // L^-H B
  return ops::_linalg_solve_triangular(adjoint_of(L), B, true, true, unit);
}

// The entries with one where E has a zero diagonal: 1 / (x_j - x_i) off the diagonal.
Tensor differences(const Tensor& x) {
  return ops::unsqueeze(x, -2) - ops::unsqueeze(x, -1) + identity_beside(x.sizes().back(), x);
}

Tensor without_diagonal(const Tensor& square) {
  return where(ops::eq(diagonal_numbers(square), Scalar(0)), Scalar(0), square);
}

Tensor skew(const Tensor& x) { return x - adjoint_of(x); }

}  // namespace

Tensor identity_beside(int64_t n, const Tensor& like) {
  return ops::eye(n, TensorOptions{like.dtype(), like.device()});
}

// ---- LU ----

// A = P L U. With k = min(m, n), the square corner L1, U1 decides; the rest of L (a tall A) or U (a wide one) follows
// from it by a triangular solve, whose gradient flows back into the corner.
Tensor lu_factor_backward(const Tensor& grad, const Tensor& LU, const Tensor& pivots) {
  const int64_t m = rows_of(LU), n = columns_of(LU), k = std::min(m, n);
  if (LU.numel() == 0) return zeros_like(LU);
  const Tensor corner = ops::slice(ops::slice(LU, -2, 0, k, 1), -1, 0, k, 1);
  const Tensor grad_corner = ops::slice(ops::slice(grad, -2, 0, k, 1), -1, 0, k, 1);
  const Tensor L1 = ops::tril(corner, -1) + identity_beside(k, LU), U1 = ops::triu(corner, 0);
  Tensor below = ops::matmul(adjoint_of(L1), ops::tril(grad_corner, -1));
  Tensor above = ops::matmul(ops::triu(grad_corner, 0), adjoint_of(U1));
  Tensor rest;  // the gradient of the part of P^T A outside the corner
  if (m > n) {
    const Tensor L2 = ops::slice(LU, -2, k, m, 1), grad_l2 = ops::slice(grad, -2, k, m, 1);
    above = above - ops::matmul(adjoint_of(L2), grad_l2);
    rest = solve_upper_adjoint_right(grad_l2, U1);
  } else if (n > m) {
    const Tensor U2 = ops::slice(LU, -1, k, n, 1), grad_u2 = ops::slice(grad, -1, k, n, 1);
    below = below - ops::matmul(grad_u2, adjoint_of(U2));
    rest = solve_lower_adjoint(L1, grad_u2, true);
  }
  const Tensor inner = ops::tril(below, -1) + ops::triu(above, 0);
  Tensor permuted = solve_lower_adjoint(L1, solve_upper_adjoint_right(inner, U1), true);
  if (rest.defined()) {
    const Tensor parts[] = {permuted, rest};
    permuted = ops::cat(parts, m > n ? -2 : -1);
  }
  return ops::matmul(ops::_linalg_permutation(pivots, m, LU.dtype()), permuted);
}

// The gradient of LU; B's is a solve of its own. X A = B is A^H X^H = B^H, so only left sides are treated.
Tensor lu_solve_backward(const Tensor& grad, const Tensor& X, const Tensor& LU, const Tensor& pivots,
                         bool left, bool adjoint) {
  if (!left) return lu_solve_backward(adjoint_of(grad), adjoint_of(X), LU, pivots, true, !adjoint);
  const int64_t n = rows_of(LU);
  const Tensor L = ops::tril(LU, -1) + identity_beside(n, LU), U = ops::triu(LU, 0);
  if (!adjoint) {  // X = U^-1 L^-1 P^T B
    const Tensor after_u = ops::_linalg_solve_triangular(adjoint_of(U), grad, false, true, false);
    const Tensor grad_u = -ops::matmul(after_u, adjoint_of(X));
    const Tensor after_l = solve_lower_adjoint(L, after_u, true);
    const Tensor grad_l = -ops::matmul(after_l, adjoint_of(ops::matmul(U, X)));
    return ops::tril(grad_l, -1) + ops::triu(grad_u, 0);
  }
  // X = P Z with Z = L^-H Y and Y = U^-H B.
  const Tensor turn = ops::transpose(ops::_linalg_permutation(pivots, n, LU.dtype()), -2, -1);
  const Tensor Z = ops::matmul(turn, X), Y = ops::matmul(adjoint_of(L), Z);
  const Tensor grad_y = ops::_linalg_solve_triangular(L, ops::matmul(turn, grad), false, true, true);
  const Tensor grad_l = -ops::matmul(Z, adjoint_of(grad_y));
  const Tensor grad_u = -ops::matmul(Y, adjoint_of(solve_upper(U, grad_y)));
  return ops::tril(grad_l, -1) + ops::triu(grad_u, 0);
}

std::array<Tensor, 2> solve_backward(const Tensor& grad, const Tensor& X, const Tensor& A, const Tensor& B,
                                     const Tensor& LU, const Tensor& pivots, bool left,
                                     const std::array<bool, 2>& needs) {
  const bool vector = infer::is_vector_side(A, B);
  const Tensor g = vector ? ops::unsqueeze(grad, -1) : grad, x = vector ? ops::unsqueeze(X, -1) : X;
  // A gradient that is to be differentiated again must come from A; else the factors are there.
  const Tensor grad_b = differentiated_again(grad, A, B)
                            ? std::get<0>(ops::_linalg_solve(adjoint_of(A), g, left))
                            : ops::_linalg_lu_solve(LU, pivots, g, left, true);
  std::array<Tensor, 2> out;
  if (needs[0]) out[0] = left ? -ops::matmul(grad_b, adjoint_of(x)) : -ops::matmul(adjoint_of(x), grad_b);
  if (needs[1]) out[1] = vector ? ops::squeeze(grad_b, -1) : grad_b;
  return out;
}

Tensor inverse_backward(const Tensor& grad, const Tensor& inverse) {
  const Tensor turned = adjoint_of(inverse);
  return -ops::matmul(turned, ops::matmul(grad, turned));
}

Tensor det_backward(const Tensor& grad, const Tensor& determinant, const Tensor& A, const Tensor& LU,
                    const Tensor& pivots) {
  if (A.numel() == 0) return zeros_like(A);
  const auto over_matrix = [](const Tensor& x) { return ops::unsqueeze(ops::unsqueeze(x, -1), -1); };
  if (differentiated_again(grad, A)) {
    const Tensor inverse = std::get<0>(ops::_linalg_inverse(A));
    return over_matrix(grad * conjugate(determinant)) * adjoint_of(inverse);
  }
  // A zero in U is moved by the smallest step, so that the adjugate of a matrix of rank n - 1 comes out.
  const int64_t n = rows_of(LU);
  const double step = real_type(A.dtype()) == DType::float64 ? std::numeric_limits<double>::epsilon()
                                                             : std::numeric_limits<float>::epsilon();
  const Tensor diagonal = ops::diagonal(LU, 0, -2, -1);
  const Tensor missing = where(ops::eq(diagonal, Scalar(0)), Scalar(step), zeros_like(diagonal));
  const Tensor moved = ops::prod(diagonal + missing, -1);
  const Tensor places = ops::arange(Scalar(int64_t(1)), Scalar(n + 1), {DType::int32, A.device()});
  const Tensor exchanges = ops::sum(ops::ne(pivots, places), DimList(-1), false, std::nullopt);
  const Tensor sign = Scalar(1) - ops::remainder(exchanges, Scalar(2)) * Scalar(2);
  const Tensor factor = over_matrix(grad * conjugate(moved) * sign);
  return ops::_linalg_lu_solve(LU + ops::diag_embed(missing), pivots, factor * identity_beside(n, A), true,
                               true);
}

// With t = tr(A^-1 dA), the logarithm changes by Re t and the sign's angle by Im t.
Tensor slogdet_backward(const Tensor& grad_sign, const Tensor& grad_log, const Tensor& sign, const Tensor& A,
                        const Tensor& LU, const Tensor& pivots) {
  Tensor g = grad_log;
  if (grad_sign.defined() && is_complex(A.dtype())) {
    const Tensor turn = conjugate(grad_sign) * sign;
    g = sum_of(g, (conjugate(turn) - turn) / Scalar(2));
  }
  if (!g.defined() || A.numel() == 0) return zeros_like(A);
  const Tensor identity = identity_beside(rows_of(A), A);
  const Tensor right = ops::unsqueeze(ops::unsqueeze(g, -1), -1) * identity;
  if (differentiated_again(g, A)) return std::get<0>(ops::_linalg_solve(adjoint_of(A), right, true));
  return ops::_linalg_lu_solve(LU, pivots, right, true, true);
}

// ---- triangles ----

Tensor cholesky_backward(const Tensor& grad, const Tensor& factor, bool upper) {
  const Tensor L = upper ? adjoint_of(factor) : factor, g = upper ? adjoint_of(grad) : grad;
  const Tensor product = ops::tril(ops::matmul(adjoint_of(L), g), 0);
  const Tensor mirrored = product + adjoint_of(ops::tril(product, -1));
  const Tensor left = solve_lower_adjoint(L, mirrored, false);
  return ops::_linalg_solve_triangular(L, left, false, false, false) * Scalar(0.5);
}

// Of (L L^H)^-1 by L, or of (U^H U)^-1 by U; as in PyTorch all of the factor has a gradient, not its triangle only.
Tensor cholesky_inverse_backward(const Tensor& grad, const Tensor& inverse, const Tensor& factor,
                                 bool upper) {
  const Tensor whole = ops::matmul(inverse, ops::matmul(grad + adjoint_of(grad), inverse));
  return -(upper ? ops::matmul(factor, whole) : ops::matmul(whole, factor));
}

std::array<Tensor, 2> solve_triangular_backward(const Tensor& grad, const Tensor& X, const Tensor& A,
                                                bool upper, bool left, bool unit,
                                                const std::array<bool, 2>& needs) {
  const Tensor grad_b = ops::_linalg_solve_triangular(adjoint_of(A), grad, !upper, left, unit);
  std::array<Tensor, 2> out;
  if (needs[0]) {
    const Tensor whole = left ? -ops::matmul(grad_b, adjoint_of(X)) : -ops::matmul(adjoint_of(X), grad_b);
    out[0] = upper ? ops::triu(whole, unit ? 1 : 0) : ops::tril(whole, unit ? -1 : 0);
  }
  if (needs[1]) out[1] = grad_b;
  return out;
}

// ---- orthogonal ----

Tensor qr_backward(const Tensor& grad_q, const Tensor& grad_r, const Tensor& Q, const Tensor& R,
                   std::string_view mode) {
  MT_CHECK(mode != "r",
           "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
           "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.");
  const int64_t m = rows_of(Q), n = columns_of(R);
  MT_CHECK(mode != "complete" || m <= n,
           "The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
  if (m < n) {  // R = [U, V]: A's first m columns are Q U, the others Q V
    const Tensor U = ops::slice(R, -1, 0, m, 1), V = ops::slice(R, -1, m, n, 1);
    Tensor grad_u, grad_tail, grad_both = grad_q;
    if (grad_r.defined()) {
      grad_u = ops::slice(grad_r, -1, 0, m, 1);
      const Tensor grad_v = ops::slice(grad_r, -1, m, n, 1);
      // V = Q^H Y with Y = Q V
      grad_both = sum_of(grad_q, ops::matmul(ops::matmul(Q, V), adjoint_of(grad_v)));
      grad_tail = ops::matmul(Q, grad_v);
    }
    const Tensor head = qr_backward(grad_both, grad_u, Q, U, "reduced");
    if (!grad_tail.defined()) {
      Dims sizes(head.sizes());
      sizes.back() = n - m;
      grad_tail = ops::zeros(sizes, {head.dtype(), head.device()});
    }
    const Tensor parts[] = {head, grad_tail};
    return ops::cat(parts, -1);
  }
  Tensor inner;
  if (grad_r.defined()) inner = ops::matmul(grad_r, adjoint_of(R));
  if (grad_q.defined()) inner = sum_of(inner, -ops::matmul(adjoint_of(Q), grad_q));
  const Tensor upper = ops::triu(inner, 0);
  const Tensor symmetric = upper + adjoint_of(ops::triu(inner, 1));
  // The diagonal of a hermitian matrix is real.
  const Tensor diagonal = ops::diagonal(upper, 0, -2, -1);
  const Tensor real = is_complex(upper.dtype())
                          ? symmetric + ops::diag_embed((conjugate(diagonal) - diagonal) / Scalar(2))
                          : symmetric;
  const Tensor whole = sum_of(grad_q, ops::matmul(Q, real));
  return solve_upper_adjoint_right(whole, R);
}

// ---- spectral ----

Tensor svd_backward(const Tensor& grad_u, const Tensor& grad_s, const Tensor& grad_vh, const Tensor& full_u,
                    const Tensor& S, const Tensor& full_vh) {
  MT_CHECK(full_u.dim() >= 2,
           "svd: the gradient needs the singular vectors, which compute_uv=False leaves out");
  const int64_t k = S.sizes().back(), m = rows_of(full_u), n = columns_of(full_vh);
  const auto first_columns = [&](const Tensor& x) { return x.defined() ? ops::slice(x, -1, 0, k, 1) : x; };
  const auto first_rows = [&](const Tensor& x) { return x.defined() ? ops::slice(x, -2, 0, k, 1) : x; };
  const Tensor U = first_columns(full_u), Vh = first_rows(full_vh);
  const Tensor gu = first_columns(grad_u), gvh = first_rows(grad_vh);
  const Tensor by_row = ops::unsqueeze(S, -1), by_column = ops::unsqueeze(S, -2);
  if (!gu.defined() && !gvh.defined()) return ops::matmul(U * ops::unsqueeze(grad_s, -2), Vh);

  const Tensor gap = differences(S * S);
  Tensor middle, outside;
  if (gu.defined()) {
    const Tensor turned = ops::matmul(adjoint_of(U), gu), twist = skew(turned);
    middle = twist / gap * by_column;
    if (is_complex(U.dtype()))
      middle = middle + ops::diag_embed(ops::diagonal(twist, 0, -2, -1) / (S * Scalar(2)));
    if (m > k) outside = ops::matmul((gu - ops::matmul(U, turned)) / by_column, Vh);
  }
  if (gvh.defined()) {
    const Tensor turned = ops::matmul(gvh, adjoint_of(Vh));
    middle = sum_of(middle, by_row * (skew(adjoint_of(turned)) / gap));
    if (n > k) outside = sum_of(outside, ops::matmul(U, (gvh - ops::matmul(turned, Vh)) / by_row));
  }
  if (grad_s.defined()) middle = middle + ops::diag_embed(grad_s);
  return sum_of(ops::matmul(U, ops::matmul(middle, Vh)), outside);
}

// P = A^+: dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P, for matrices of constant rank.
Tensor pinv_backward(const Tensor& grad, const Tensor& P, const Tensor& A) {
  const Tensor Ph = adjoint_of(P), gh = adjoint_of(grad);
  const Tensor right = ops::matmul(gh, ops::matmul(P, Ph));
  const Tensor left = ops::matmul(ops::matmul(Ph, P), gh);
  return right - ops::matmul(A, ops::matmul(P, right)) + left - ops::matmul(ops::matmul(left, P), A) -
         ops::matmul(Ph, ops::matmul(grad, Ph));
}

Tensor eigh_backward(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                     const Tensor& V) {
  const Tensor Vh = adjoint_of(V);
  if (!grad_vectors.defined()) return ops::matmul(V * ops::unsqueeze(grad_values, -2), Vh);
  Tensor inner = without_diagonal(ops::matmul(Vh, grad_vectors) / differences(values));
  if (grad_values.defined()) inner = inner + ops::diag_embed(grad_values);
  return ops::matmul(V, ops::matmul(inner, Vh));
}

Tensor eig_backward(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                    const Tensor& V) {
  const Tensor Vh = adjoint_of(V);
  if (!grad_vectors.defined())
    return std::get<0>(ops::_linalg_solve(Vh, ops::unsqueeze(grad_values, -1) * Vh, true));
  // Vectors of length one: what lengthens them is taken out.
  const Tensor turned = ops::matmul(Vh, grad_vectors), along = ops::diagonal(turned, 0, -2, -1);
  const Tensor real = (along + conjugate(along)) / Scalar(2);
  const Tensor across = turned - ops::matmul(Vh, V * ops::unsqueeze(real, -2));
  Tensor inner = without_diagonal(across / conjugate(differences(values)));
  if (grad_values.defined()) inner = inner + ops::diag_embed(grad_values);
  return std::get<0>(ops::_linalg_solve(Vh, ops::matmul(inner, Vh), true));
}

}  // namespace mt::formulas
