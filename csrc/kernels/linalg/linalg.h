// Decompositions and solves over batches of matrices: the last two dimensions are the matrix, those before them a
// batch of the same shape in every operand (a broadcast operand has strides of 0). All strides are taken.
#pragma once

#include <string_view>

#include "kernels/common/view.h"

namespace mt::kernels {

// pivots and info are int32; info is 0 where all went well, as LAPACK gives it.
void lu_factor(const View& a, const View& lu, const View& pivots, const View& info);
// Solves A X = B (left) or X A = B, with A^H for A if `adjoint`.
void lu_solve(const View& lu, const View& pivots, const View& b, const View& x, bool left, bool adjoint);
void lu_determinant(const View& lu, const View& pivots, const View& determinant);
void lu_sign_and_log(const View& lu, const View& pivots, const View& sign, const View& log_abs);
// The permutation matrix that the row exchanges of LAPACK's pivots amount to.
void permutation_matrix(const View& pivots, const View& out);
void inverse(const View& a, const View& out, const View& info);
void cholesky(const View& a, const View& factor, const View& info, bool upper);
// The inverse of the matrix whose Cholesky factor is given.
void cholesky_inverse(const View& factor, const View& out, bool upper);
void solve_triangular(const View& a, const View& b, const View& x, bool upper, bool left, bool unit);
void ldl_factor(const View& a, const View& factor, const View& pivots, const View& info, bool hermitian);
void ldl_solve(const View& factor, const View& pivots, const View& b, const View& x, bool hermitian);

void geqrf(const View& a, const View& reflectors, const View& tau);
// q may be null; its and r's sizes say whether they are reduced.
void qr(const View& a, const View* q, const View& r);
void householder_product(const View& reflectors, const View& tau, const View& out);
void ormqr(const View& reflectors, const View& tau, const View& other, const View& out, bool left,
           bool transpose);
// Residuals are not computed. rank and singular values may be null where the driver has none.
void least_squares(const View& a, const View& b, const View& solution, const View* rank, const View* s,
                   double rcond, std::string_view driver);

// u and vh may be null together; their sizes say whether they are reduced.
void svd(const View& a, const View* u, const View& s, const View* vh);
void eigh(const View& a, const View& w, const View* v, bool upper);
void eig(const View& a, const View& w, const View* v);
// Singular values at most max(atol, rtol * largest) count as zero; hermitian: only the lower triangle is read.
void pseudo_inverse(const View& a, const View& atol, const View& rtol, const View& out, bool hermitian);

}  // namespace mt::kernels
