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
  const devices::Numbers numbers = devices::take_numbers(generator, out);
  MT_CHECK_AS(not_implemented, !numbers.captured(),
              "randperm cannot be captured in a graph: aclnnRandperm takes the seed from the host, so that "
              "every replay "
              "would give the same permutation. Use torch.rand(n, device='npu').argsort().");
  static aclnn::Function<decltype(aclnnRandpermGetWorkspaceSize)> f("aclnnRandperm");
  aclnn::call(f, out.device(), n, numbers.seed, numbers.offset, out);
}

}  // namespace mt::npu
