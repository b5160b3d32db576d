#include "generated/cpu/matmul.h"

#include "backends/cpu/kernel_view.h"
#include "kernels/matmul/cross.h"
#include "kernels/matmul/matmul.h"

namespace mt::cpu {
namespace {

// Products of booleans have no meaning that people agree on; PyTorch refuses them unless there is nothing to compute.
void check_product(const Tensor& out) {
  MT_CHECK_AS(not_implemented, out.dtype() != DType::boolean || out.numel() == 0,
              "\"addmm_impl_cpu_\" not implemented for 'Bool'");
}

}  // namespace

void mm(const Tensor& self, const Tensor& mat2, const Tensor& out) {
  check_product(out);
  kernels::gemm(view(self), view(mat2), view(out), 1, 0);
}
void bmm(const Tensor& self, const Tensor& mat2, const Tensor& out) {
  check_product(out);
  kernels::bmm(view(self), view(mat2), view(out), 1, 0);
}

void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
           const Scalar& alpha, const Tensor& out) {
  check_product(out);
  if (!beta.equals(0) && !out.same(self)) kernels::copy(view(self), view(out));
  kernels::gemm(view(mat1), view(mat2), view(out), alpha, beta);
}

void baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
             const Scalar& alpha, const Tensor& out) {
  MT_CHECK_AS(not_implemented, out.dtype() != DType::boolean || out.numel() == 0,
              "\"baddbmm_with_gemm\" not implemented for 'Bool'");
  if (!beta.equals(0) && !out.same(self)) kernels::copy(view(self), view(out));
  kernels::bmm(view(batch1), view(batch2), view(out), alpha, beta);
}

void linalg_cross(const Tensor& self, const Tensor& other, int64_t dim, const Tensor& out) {
  kernels::cross(view(self), view(other), view(out), int(wrap_dim(dim, out.dim())));
}

}  // namespace mt::cpu
