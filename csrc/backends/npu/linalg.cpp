// The operators report no codes: a matrix that cannot be decomposed fails on the device.
#include "generated/npu/linalg.h"

#include "backends/npu/aclnn_call.h"
#include "core/views.h"

namespace mt::npu {
namespace {

void all_went_well(const Tensor& info) {
  if (info.numel() == 0) return;
  MT_ACLNN(aclnnInplaceZero);
  aclnn::call(f, info.device(), info);
}

Tensor turned(const Tensor& matrix) { return views::transpose(matrix, -2, -1); }

}  // namespace

void linalg_inverse(const Tensor& A, const Tensor& inverse, const Tensor& info) {
  all_went_well(info);
  if (inverse.numel() == 0) return;
  MT_ACLNN(aclnnInverse);
  aclnn::call(f, A.device(), A, inverse);
}

void linalg_cholesky(const Tensor& self, bool upper, const Tensor& L, const Tensor& info) {
  all_went_well(info);
  if (L.numel() == 0) return;
  MT_ACLNN(aclnnLinalgCholesky);
  aclnn::call(f, self.device(), self, upper, L);
}

// X A = B is solved as A^T X^T = B^T.
void linalg_solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular,
                             const Tensor& out) {
  if (out.numel() == 0) return;
  Dims sizes(out.sizes());
  sizes[sizes.size() - 2] = sizes[sizes.size() - 1] = A.size(-1);
  const Tensor copy_of_matrix = new_tensor(sizes, A.dtype(), A.device());
  MT_ACLNN(aclnnTriangularSolve);
  if (left) aclnn::call(f, A.device(), B, A, upper, false, unitriangular, out, copy_of_matrix);
  else aclnn::call(f, A.device(), turned(B), A, upper, true, unitriangular, turned(out), copy_of_matrix);
}

void linalg_qr(const Tensor& A, std::string_view mode, const Tensor& Q, const Tensor& R) {
  MT_ACLNN(aclnnLinalgQr);
  aclnn::call(f, A.device(), A, mode == "reduced" ? 0 : mode == "complete" ? 1 : 2, Q, R);
}

// The operator gives V, the table wants its adjoint; of real matrices that is a view.
void linalg_svd(const Tensor& A, bool full_matrices, bool compute_uv, const Tensor& U, const Tensor& S,
                const Tensor& Vh) {
  MT_CHECK_AS(not_implemented, !is_complex(A.dtype()),
              "npu: the singular value decomposition of complex matrices is not supported. Use x.cpu().");
  MT_ACLNN(aclnnSvd);
  aclnn::call(f, A.device(), A, full_matrices, compute_uv, S, U, compute_uv ? turned(Vh) : Vh);
}

}  // namespace mt::npu
