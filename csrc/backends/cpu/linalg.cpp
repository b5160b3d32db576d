// Operands brought to one batch, then the kernels.
#include "generated/cpu/linalg.h"

#include "backends/cpu/kernel_view.h"
#include "core/views.h"
#include "infer/matrices.h"
#include "kernels/linalg/linalg.h"

namespace mt::cpu {
namespace {

// `t` expanded to the batch of `like`, with its own last `last` dimensions; `like` has `dims` such.
Tensor in_batch_of(const Tensor& t, int64_t last, const Tensor& like, int64_t dims) {
  Dims sizes(like.sizes().first(size_t(like.dim() - dims)));
  for (int64_t size : t.sizes().last(size_t(last))) sizes.push_back(size);
  return views::expand(t, sizes, true);
}

}  // namespace

void linalg_lu_factor(const Tensor& A, bool, const Tensor& LU, const Tensor& pivots, const Tensor& info) {
  kernels::lu_factor(view(A), view(LU), view(pivots), view(info));
}
void linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint,
                     const Tensor& out) {
  kernels::lu_solve(view(in_batch_of(LU, 2, out, 2)), view(in_batch_of(pivots, 1, out, 2)),
                    view(in_batch_of(B, 2, out, 2)), view(out), left, adjoint);
}
void linalg_permutation(const Tensor& pivots, int64_t, DType, const Tensor& out) {
  kernels::permutation_matrix(view(pivots), view(out));
}
void linalg_solve(const Tensor& A, const Tensor& B, bool left, const Tensor& solution, const Tensor& LU,
                  const Tensor& pivots, const Tensor& info) {
  kernels::lu_factor(view(A), view(LU), view(pivots), view(info));
  const bool vector = infer::is_vector_side(A, B);
  const Tensor right = vector ? views::unsqueeze(B, -1) : B;
  linalg_lu_solve(LU, pivots, right, left, false, vector ? views::unsqueeze(solution, -1) : solution);
}
void linalg_inverse(const Tensor& A, const Tensor& inverse, const Tensor& info) {
  kernels::inverse(view(A), view(inverse), view(info));
}
void linalg_det(const Tensor& A, const Tensor& determinant, const Tensor& LU, const Tensor& pivots) {
  const Tensor info = new_tensor(infer::batch_of(A), DType::int32, A.device());
  kernels::lu_factor(view(A), view(LU), view(pivots), view(info));
  kernels::lu_determinant(view(LU), view(pivots), view(determinant));
}
void linalg_slogdet(const Tensor& A, const Tensor& sign, const Tensor& logabsdet, const Tensor& LU,
                    const Tensor& pivots) {
  const Tensor info = new_tensor(infer::batch_of(A), DType::int32, A.device());
  kernels::lu_factor(view(A), view(LU), view(pivots), view(info));
  kernels::lu_sign_and_log(view(LU), view(pivots), view(sign), view(logabsdet));
}
void linalg_cholesky(const Tensor& self, bool upper, const Tensor& L, const Tensor& info) {
  kernels::cholesky(view(self), view(L), view(info), upper);
}
void cholesky_inverse(const Tensor& self, bool upper, const Tensor& out) {
  kernels::cholesky_inverse(view(self), view(out), upper);
}
void linalg_solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular,
                             const Tensor& out) {
  kernels::solve_triangular(view(in_batch_of(A, 2, out, 2)), view(in_batch_of(B, 2, out, 2)), view(out),
                            upper, left, unitriangular);
}
void linalg_ldl_factor(const Tensor& self, bool hermitian, const Tensor& LD, const Tensor& pivots,
                       const Tensor& info) {
  kernels::ldl_factor(view(self), view(LD), view(pivots), view(info), hermitian);
}
void linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian,
                      const Tensor& out) {
  kernels::ldl_solve(view(in_batch_of(LD, 2, out, 2)), view(in_batch_of(pivots, 1, out, 2)),
                     view(in_batch_of(B, 2, out, 2)), view(out), hermitian);
}

void linalg_qr(const Tensor& A, std::string_view mode, const Tensor& Q, const Tensor& R) {
  const kernels::View q = view(Q);
  kernels::qr(view(A), mode == "r" ? nullptr : &q, view(R));
}
void linalg_geqrf(const Tensor& self, const Tensor& a, const Tensor& tau) {
  kernels::geqrf(view(self), view(a), view(tau));
}
void linalg_householder_product(const Tensor& input, const Tensor& tau, const Tensor& out) {
  kernels::householder_product(view(input), view(tau), view(out));
}
void linalg_ormqr(const Tensor& self, const Tensor& tau, const Tensor& other, bool left, bool transpose,
                  const Tensor& out) {
  kernels::ormqr(view(self), view(tau), view(other), view(out), left, transpose);
}
void linalg_lstsq(const Tensor& A, const Tensor& B, double rcond, std::string_view driver,
                  const Tensor& solution, const Tensor& rank, const Tensor& singular_values) {
  const kernels::View r = view(rank), s = view(singular_values);
  const bool values = driver == "gelsd" || driver == "gelss";
  kernels::least_squares(view(in_batch_of(A, 2, solution, 2)), view(in_batch_of(B, 2, solution, 2)),
                         view(solution), driver == "gels" ? nullptr : &r, values ? &s : nullptr, rcond,
                         driver);
}

void linalg_svd(const Tensor& A, bool, bool compute_uv, const Tensor& U, const Tensor& S, const Tensor& Vh) {
  const kernels::View u = view(U), vh = view(Vh);
  kernels::svd(view(A), compute_uv ? &u : nullptr, view(S), compute_uv ? &vh : nullptr);
}
void linalg_pinv(const Tensor& A, const Tensor& atol, const Tensor& rtol, bool hermitian, const Tensor& out) {
  kernels::pseudo_inverse(view(A), view(in_batch_of(atol, 0, A, 2)), view(in_batch_of(rtol, 0, A, 2)),
                          view(out), hermitian);
}
void linalg_eigh(const Tensor& A, std::string_view UPLO, bool compute_v, const Tensor& eigenvalues,
                 const Tensor& eigenvectors) {
  const kernels::View v = view(eigenvectors);
  kernels::eigh(view(A), view(eigenvalues), compute_v ? &v : nullptr, UPLO == "U" || UPLO == "u");
}
void linalg_eig(const Tensor& A, bool compute_v, const Tensor& eigenvalues, const Tensor& eigenvectors) {
  const kernels::View v = view(eigenvectors);
  kernels::eig(view(A), view(eigenvalues), compute_v ? &v : nullptr);
}

}  // namespace mt::cpu
