#include "backends/npu/aclnn_call.h"
#include "generated/npu/kernels.h"

namespace mt::npu {

// Not a cell of the table: aclnnClamp takes absent limits too, so no functor of a family describes it.
void clamp(const Tensor& self, const Scalar& min, const Scalar& max, const Tensor& out) {
  static aclnn::Function<decltype(aclnnClampGetWorkspaceSize)> f("aclnnClamp");
  aclnn::call(f, out.device(), self, min, max, out);
}

}  // namespace mt::npu
