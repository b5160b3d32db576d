#include "generated/npu/normalization.h"

#include <array>

#include "backends/npu/aclnn_call.h"

namespace mt::npu {
namespace {

// Results that are not needed are left out.
Tensor if_needed(int64_t needs, int64_t which, const Tensor& result) {
  return needs & which ? result : Tensor();
}
std::array<bool, 3> mask_of(int64_t needs) { return {(needs & 1) != 0, (needs & 2) != 0, (needs & 4) != 0}; }

}  // namespace

void layer_norm_backward(const Tensor& grad_output, const Tensor& input, IntList normalized_shape,
                         const Tensor& mean, const Tensor& rstd, const Tensor& weight, int64_t needs,
                         const Tensor& to_input, const Tensor& to_weight, const Tensor& to_bias) {
  MT_ACLNN(aclnnLayerNormBackward);
  aclnn::call(f, input.device(), grad_output, input, normalized_shape, mean, rstd, weight, Tensor(),
              mask_of(needs), if_needed(needs, 1, to_input), if_needed(needs, 2, to_weight),
              if_needed(needs, 4, to_bias));
}
void group_norm_backward(const Tensor& grad_output, const Tensor& input, const Tensor& mean,
                         const Tensor& rstd, const Tensor& weight, int64_t n, int64_t c, int64_t hxw,
                         int64_t group, int64_t needs, const Tensor& to_input, const Tensor& to_weight,
                         const Tensor& to_bias) {
  MT_ACLNN(aclnnGroupNormBackward);
  aclnn::call(f, input.device(), grad_output, input, mean, rstd, weight, n, c, hxw, group, mask_of(needs),
              if_needed(needs, 1, to_input), if_needed(needs, 2, to_weight), if_needed(needs, 4, to_bias));
}
void batch_norm_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                         const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                         const Tensor& save_invstd, bool training, double eps, int64_t needs,
                         const Tensor& to_input, const Tensor& to_weight, const Tensor& to_bias) {
  MT_ACLNN(aclnnBatchNormBackward);
  aclnn::call(f, input.device(), grad_output, input, weight, running_mean, running_var, save_mean,
              save_invstd, training, eps, mask_of(needs), if_needed(needs, 1, to_input),
              if_needed(needs, 2, to_weight), if_needed(needs, 4, to_bias));
}

}  // namespace mt::npu
