// Reductions whose ACLNN form differs from PyTorch's.
#include "backends/npu/aclnn_call.h"
#include "backends/npu/copy.h"
#include "core/views.h"
#include "generated/npu/kernels.h"

namespace mt::npu {
namespace {

// ACLNN wants a dimension; without one PyTorch means the position in the flattened tensor.
template <class Function>
void arg_reduce(Function& f, const Tensor& self, std::optional<int64_t> dim, bool keepdim,
                const Tensor& out) {
  if (dim && self.dim() > 0) {
    aclnn::call(f, out.device(), self, wrap_dim(*dim, self.dim()), keepdim, out);
    return;
  }
  const int64_t all[] = {self.numel()};
  aclnn::call(f, out.device(), views::view(contiguous(self), all), 0, false, views::view(out, IntList{}));
}

}  // namespace

void argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim, const Tensor& out) {
  static aclnn::Function<decltype(aclnnArgMaxGetWorkspaceSize)> f("aclnnArgMax");
  arg_reduce(f, self, dim, keepdim, out);
}

void argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim, const Tensor& out) {
  static aclnn::Function<decltype(aclnnArgMinGetWorkspaceSize)> f("aclnnArgMin");
  arg_reduce(f, self, dim, keepdim, out);
}

}  // namespace mt::npu
