#include "generated/npu/creation.h"

#include "backends/npu/aclnn_call.h"
#include "devices/counter_generator.h"

namespace mt::npu {

void linspace(const Scalar& start, const Scalar& end, const Tensor& out) {
  static aclnn::Function<decltype(aclnnLinspaceGetWorkspaceSize)> f("aclnnLinspace");
  aclnn::call(f, out.device(), start, end, out.numel(), out);
}

void randperm(int64_t n, const Tensor& out, Generator* generator) {
  if (n == 0) return;
  const auto [seed, offset] = devices::take_numbers(generator, out);
  static aclnn::Function<decltype(aclnnRandpermGetWorkspaceSize)> f("aclnnRandperm");
  aclnn::call(f, out.device(), n, seed, offset, out);
}

}  // namespace mt::npu
