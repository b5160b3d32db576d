#include "generated/npu/vision.h"

#include "backends/npu/aclnn_call.h"

namespace mt::npu {

// ACLNN takes 0, and no negative number, for as many samples as pixels.
void roi_align(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
               int64_t pooled_width, int64_t sampling_ratio, bool aligned, const Tensor& out) {
  MT_ACLNN(aclnnRoiAlignV2);
  aclnn::call(f, out.device(), input, rois, pooled_height, pooled_width, spatial_scale,
              std::max<int64_t>(sampling_ratio, 0), aligned, out);
}
void roi_align_backward(const Tensor& grad, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                        int64_t pooled_width, int64_t batch_size, int64_t channels, int64_t height,
                        int64_t width, int64_t sampling_ratio, bool aligned, const Tensor& out) {
  MT_ACLNN(aclnnRoiAlignV2Backward);
  aclnn::call(f, out.device(), grad, rois, Dims{batch_size, channels, height, width}, pooled_height,
              pooled_width, spatial_scale, std::max<int64_t>(sampling_ratio, 0), aligned, out);
}

}  // namespace mt::npu
