#include "generated/npu/activation.h"

#include "backends/npu/aclnn_call.h"

namespace mt::npu {

void gelu(const Tensor& self, std::string_view approximate, const Tensor& out) {
  static aclnn::Function<decltype(aclnnGeluV2GetWorkspaceSize)> f("aclnnGeluV2");
  aclnn::call(f, out.device(), self, approximate == "none" ? 0 : 1, out);
}
void gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate, const Tensor& out) {
  static aclnn::Function<decltype(aclnnGeluBackwardV2GetWorkspaceSize)> f("aclnnGeluBackwardV2");
  if (approximate == "none") aclnn::call(f, out.device(), grad, self, "none", out);
  else aclnn::call(f, out.device(), grad, self, "tanh", out);
}

}  // namespace mt::npu
