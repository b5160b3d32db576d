#include "generated/npu/creation.h"

#include "backends/npu/aclnn_call.h"

namespace mt::npu {

void linspace(const Scalar& start, const Scalar& end, const Tensor& out) {
  static aclnn::Function<decltype(aclnnLinspaceGetWorkspaceSize)> f("aclnnLinspace");
  aclnn::call(f, out.device(), start, end, out.numel(), out);
}

}  // namespace mt::npu
