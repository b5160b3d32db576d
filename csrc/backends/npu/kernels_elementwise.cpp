// Elementwise operators whose ACLNN function also serves other forms, so that the table does not define it.
#include "backends/npu/aclnn_call.h"
#include "generated/npu/kernels.h"

namespace mt::npu {

void clamp(const Tensor& self, const Scalar& min, const Scalar& max, const Tensor& out) {
  static aclnn::Function<decltype(aclnnClampGetWorkspaceSize)> f("aclnnClamp");
  aclnn::call(f, out.device(), self, min, max, out);
}

}  // namespace mt::npu
