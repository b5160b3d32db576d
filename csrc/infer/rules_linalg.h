// Rules of single operators: linear algebra. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

// ---- checks with PyTorch's wording; `name` is the operator's, "linalg.inv" ----
void check_matrix(const Tensor& a, const char* name, const char* argument = "A");
void check_square(const Tensor& a, const char* name, const char* argument = "A");
void check_inexact(const Tensor& a, const char* name, bool low_precision = false);
// B has one dimension less than A: a (batch of) vectors on the right-hand side.
bool is_vector_side(const Tensor& a, const Tensor& b);

// The dimensions before the matrix.
inline IntList batch_of(const Tensor& a) { return a.sizes().first(size_t(a.dim() - 2)); }
inline Dims with_sizes(IntList batch, std::initializer_list<int64_t> last) {
  Dims sizes(batch);
  for (int64_t size : last) sizes.push_back(size);
  return sizes;
}
DType real_dtype(DType t);     // float32 for complex64
DType complex_dtype(DType t);  // complex64 for float32

// ---- products ----
void baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
             const Scalar& alpha, Output& out);

// ---- solving ----
void linalg_lu_factor(const Tensor& A, bool pivot, Output& LU, Output& pivots, Output& info);
void linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint,
                     Output& out);
void linalg_permutation(const Tensor& pivots, int64_t rows, DType dtype, Output& out);
void linalg_solve(const Tensor& A, const Tensor& B, bool left, Output& solution, Output& LU, Output& pivots,
                  Output& info);
void linalg_inverse(const Tensor& A, Output& inverse, Output& info);
void linalg_det(const Tensor& A, Output& determinant, Output& LU, Output& pivots);
void linalg_slogdet(const Tensor& A, Output& sign, Output& logabsdet, Output& LU, Output& pivots);
void linalg_cholesky(const Tensor& self, bool upper, Output& L, Output& info);
void linalg_solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular,
                             Output& out);
void linalg_ldl_factor(const Tensor& self, bool hermitian, Output& LD, Output& pivots, Output& info);
void linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian, Output& out);

// ---- orthogonal ----
void linalg_qr(const Tensor& A, std::string_view mode, Output& Q, Output& R);
void linalg_geqrf(const Tensor& self, Output& a, Output& tau);
void linalg_householder_product(const Tensor& input, const Tensor& tau, Output& out);
void linalg_ormqr(const Tensor& self, const Tensor& tau, const Tensor& other, bool left, bool transpose,
                  Output& out);
void linalg_lstsq(const Tensor& A, const Tensor& B, double rcond, std::string_view driver, Output& solution,
                  Output& rank, Output& singular_values);

// ---- spectral ----
void linalg_svd(const Tensor& A, bool full_matrices, bool compute_uv, Output& U, Output& S, Output& Vh);
void linalg_pinv(const Tensor& A, const Tensor& atol, const Tensor& rtol, bool hermitian, Output& out);
void linalg_eigh(const Tensor& A, std::string_view UPLO, bool compute_v, Output& eigenvalues,
                 Output& eigenvectors);
void linalg_eig(const Tensor& A, bool compute_v, Output& eigenvalues, Output& eigenvectors);

}  // namespace mt::infer
