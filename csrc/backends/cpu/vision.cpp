#include "generated/cpu/vision.h"

#include "backends/cpu/kernel_view.h"
#include "backends/cpu/optional_view.h"
#include "core/views.h"
#include "kernels/vision/boxes.h"
#include "kernels/vision/deform_conv.h"
#include "kernels/vision/roi_align.h"
#include "kernels/vision/roi_pool.h"

namespace mt::cpu {
namespace {

// Which channel of the image each bin of a position-sensitive region reads: they follow one another.
void number_channels(const Tensor& mapping) {
  into_dense(mapping, [](const Tensor& dense) {
    int32_t* to = static_cast<int32_t*>(memory(dense));
    const int64_t boxes = dense.sizes()[0], channels = boxes ? dense.numel() / boxes : 0;
    for (int64_t i = 0; i < dense.numel(); ++i) to[i] = int32_t(i % channels);
  });
}

kernels::RoiOptions position_sensitive(double scale, int64_t samples) {
  return {.scale = scale, .samples = samples, .aligned = true, .own_bins = true};
}

}  // namespace

void nms(const Tensor& dets, const Tensor& scores, double iou_threshold, const Tensor& keep,
         const Tensor& number) {
  *static_cast<int64_t*>(memory(number)) =
      kernels::non_maximum_suppression(view(dets), view(scores), iou_threshold, view(keep));
}

void roi_align(const Tensor& input, const Tensor& rois, double scale, int64_t, int64_t, int64_t samples,
               bool aligned, const Tensor& out) {
  kernels::roi_align(view(input), view(rois), {scale, samples, aligned}, view(out));
}
void roi_align_backward(const Tensor& grad, const Tensor& rois, double scale, int64_t, int64_t, int64_t,
                        int64_t, int64_t, int64_t, int64_t samples, bool aligned, const Tensor& out) {
  kernels::roi_align_backward(view(grad), view(rois), {scale, samples, aligned}, view(out));
}

void roi_pool(const Tensor& input, const Tensor& rois, double scale, int64_t, int64_t, const Tensor& result0,
              const Tensor& result1) {
  kernels::roi_pool(view(input), view(rois), scale, view(result0), view(result1));
}
void roi_pool_backward(const Tensor& grad, const Tensor& rois, const Tensor& argmax, double, int64_t, int64_t,
                       int64_t, int64_t, int64_t, int64_t, const Tensor& out) {
  kernels::roi_pool_backward(view(grad), view(rois), view(argmax), view(out));
}

void ps_roi_align(const Tensor& input, const Tensor& rois, double scale, int64_t, int64_t, int64_t samples,
                  const Tensor& result0, const Tensor& result1) {
  kernels::roi_align(view(input), view(rois), position_sensitive(scale, samples), view(result0));
  number_channels(result1);
}
void ps_roi_align_backward(const Tensor& grad, const Tensor& rois, const Tensor&, double scale, int64_t,
                           int64_t, int64_t samples, int64_t, int64_t, int64_t, int64_t, const Tensor& out) {
  kernels::roi_align_backward(view(grad), view(rois), position_sensitive(scale, samples), view(out));
}

void ps_roi_pool(const Tensor& input, const Tensor& rois, double scale, int64_t, int64_t,
                 const Tensor& result0, const Tensor& result1) {
  kernels::ps_roi_pool(view(input), view(rois), scale, view(result0));
  number_channels(result1);
}
void ps_roi_pool_backward(const Tensor& grad, const Tensor& rois, const Tensor&, double scale, int64_t,
                          int64_t, int64_t, int64_t, int64_t, int64_t, const Tensor& out) {
  kernels::ps_roi_pool_backward(view(grad), view(rois), scale, view(out));
}

void deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
                   const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
                   int64_t dilation_h, int64_t dilation_w, int64_t groups, int64_t offset_groups,
                   bool use_mask, const Tensor& out) {
  const OptionalView factors(mask, use_mask);
  kernels::deform_convolve(
      view(input), view(weight), view(offset), factors.get(), view(bias), view(out),
      {{stride_h, stride_w}, {pad_h, pad_w}, {dilation_h, dilation_w}, groups, offset_groups});
}
void deform_conv2d_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                            const Tensor& offset, const Tensor& mask, const Tensor&, int64_t stride_h,
                            int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
                            int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask,
                            const Tensor& result0, const Tensor& result1, const Tensor& result2,
                            const Tensor& result3, const Tensor& result4) {
  const OptionalView factors(mask, use_mask), grad_factors(result3, use_mask);
  if (!use_mask) kernels::fill(view(result3), 0);
  kernels::deform_convolve_backward(
      view(grad), view(input), view(weight), view(offset), factors.get(),
      {view(result0), view(result1), view(result2), view(result4), grad_factors.get()},
      {{stride_h, stride_w}, {pad_h, pad_w}, {dilation_h, dilation_w}, groups, offset_groups});
}

void box_iou_rotated(const Tensor& boxes1, const Tensor& boxes2, const Tensor& out) {
  kernels::rotated_overlaps(view(boxes1), view(boxes2), view(out));
}

}  // namespace mt::cpu
