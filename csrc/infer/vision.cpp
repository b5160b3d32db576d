#include "generated/infer/vision.h"

#include "infer/infer.h"

namespace mt::infer {
namespace {

void check_floating(const Tensor& t, const char* name) {
  MT_CHECK_AS(not_implemented, is_floating(t.dtype()), "\"", name, "\" not implemented for '",
              info(t.dtype()).legacy, "'");
}

void check_boxes(const Tensor& first, const char* first_name, const Tensor& rois, int64_t pooled_height,
                 int64_t pooled_width, const char* name) {
  MT_CHECK(first.dim() == 4, name, ": expected a 4D tensor [N, C, H, W] for ", first_name, ", got ",
           to_string(first.sizes()));
  MT_CHECK(rois.dim() == 2 && rois.sizes()[1] == 5, "rois must have shape as Tensor[K, 5], got ",
           to_string(rois.sizes()));
  MT_CHECK(pooled_height >= 0 && pooled_width >= 0, name, ": pooled sizes must not be negative, got ",
           pooled_height, " and ", pooled_width);
  check_same_device({&first, &rois});
  MT_CHECK(first.dtype() == rois.dtype(), "Expected tensor for argument #1 '", first_name,
           "' to have the same type as tensor for argument #2 'rois'; but type torch.",
           info(first.dtype()).legacy, "Tensor does not equal torch.", info(rois.dtype()).legacy,
           "Tensor (while checking arguments for ", name, ")");
  check_floating(first, name);
}

// 0 where there can be none.
int64_t bins_of(int64_t pooled_height, int64_t pooled_width) {
  int64_t bins;
  return __builtin_mul_overflow(pooled_height, pooled_width, &bins) ? 0 : std::max<int64_t>(bins, 0);
}

// Of the operators whose bins have channels of their own.
Dims spread_over_bins(const Tensor& input, const Tensor& rois, int64_t pooled_height, int64_t pooled_width,
                      const char* name) {
  check_boxes(input, "input", rois, pooled_height, pooled_width, name);
  const int64_t bins = bins_of(pooled_height, pooled_width), channels = input.sizes()[1];
  MT_CHECK(bins > 0 && channels % bins == 0,
           "input channels must be a multiple of pooling height * pooling width");
  return {rois.sizes()[0], channels / bins, pooled_height, pooled_width};
}

void prepare_images_of(const Tensor& grad, const Tensor& rois, int64_t pooled_height, int64_t pooled_width,
                       Dims images, int64_t grad_channels, const char* name, Output& out) {
  check_boxes(grad, "grad", rois, pooled_height, pooled_width, name);
  const Dims wanted{rois.sizes()[0], grad_channels, pooled_height, pooled_width};
  MT_CHECK(std::ranges::equal(grad.sizes(), wanted), name, ": expected a gradient of ", to_string(wanted),
           ", got ", to_string(grad.sizes()));
  for (int64_t size : images) MT_CHECK(size >= 0, name, ": negative size ", size, " of the images");
  out.prepare(images, grad.dtype(), grad.device());
}

void check_places(const Tensor& grad, const Tensor& places, const char* what, const char* name) {
  check_same_device({&grad, &places});
  MT_CHECK(places.dtype() == DType::int32 && std::ranges::equal(places.sizes(), grad.sizes()), name,
           ": expected int32 ", what, " of the gradient's shape ", to_string(grad.sizes()), ", got ",
           to_string(places.sizes()));
}

}  // namespace

void nms(const Tensor& dets, const Tensor& scores, double, Output& keep, Output& number) {
  MT_CHECK(dets.dim() == 2, "boxes should be a 2d tensor, got ", dets.dim(), "D");
  MT_CHECK(dets.sizes()[1] == 4, "boxes should have 4 elements in dimension 1, got ", dets.sizes()[1]);
  MT_CHECK(scores.dim() == 1, "scores should be a 1d tensor, got ", scores.dim(), "D");
  MT_CHECK(dets.sizes()[0] == scores.sizes()[0],
           "boxes and scores should have same number of elements in dimension 0, got ", dets.sizes()[0],
           " and ", scores.sizes()[0]);
  check_same_device({&dets, &scores});
  MT_CHECK(dets.dtype() == scores.dtype(), "dets should have the same type as scores");
  check_floating(dets, "nms_kernel");
  keep.prepare(scores.sizes(), DType::int64, dets.device());
  number.prepare({}, DType::int64, dets.device());
}

void roi_align(const Tensor& input, const Tensor& rois, double, int64_t pooled_height, int64_t pooled_width,
               int64_t, bool, Output& out) {
  check_boxes(input, "input", rois, pooled_height, pooled_width, "roi_align_forward_kernel");
  out.prepare(Dims{rois.sizes()[0], input.sizes()[1], pooled_height, pooled_width}, input.dtype(),
              input.device());
}
void roi_align_backward(const Tensor& grad, const Tensor& rois, double, int64_t pooled_height,
                        int64_t pooled_width, int64_t batch_size, int64_t channels, int64_t height,
                        int64_t width, int64_t, bool, Output& out) {
  prepare_images_of(grad, rois, pooled_height, pooled_width, {batch_size, channels, height, width}, channels,
                    "roi_align_backward_kernel", out);
}

void roi_pool(const Tensor& input, const Tensor& rois, double, int64_t pooled_height, int64_t pooled_width,
              Output& result0, Output& result1) {
  check_boxes(input, "input", rois, pooled_height, pooled_width, "roi_pool_forward_kernel");
  const Dims sizes{rois.sizes()[0], input.sizes()[1], pooled_height, pooled_width};
  result0.prepare(sizes, input.dtype(), input.device());
  result1.prepare(sizes, DType::int32, input.device());
}
void roi_pool_backward(const Tensor& grad, const Tensor& rois, const Tensor& argmax, double,
                       int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                       int64_t height, int64_t width, Output& out) {
  prepare_images_of(grad, rois, pooled_height, pooled_width, {batch_size, channels, height, width}, channels,
                    "roi_pool_backward_kernel", out);
  check_places(grad, argmax, "argmax", "roi_pool_backward_kernel");
}

void ps_roi_align(const Tensor& input, const Tensor& rois, double, int64_t pooled_height,
                  int64_t pooled_width, int64_t, Output& result0, Output& result1) {
  const Dims sizes =
      spread_over_bins(input, rois, pooled_height, pooled_width, "ps_roi_align_forward_kernel");
  result0.prepare(sizes, input.dtype(), input.device());
  result1.prepare(sizes, DType::int32, input.device());
}
void ps_roi_align_backward(const Tensor& grad, const Tensor& rois, const Tensor& channel_mapping, double,
                           int64_t pooled_height, int64_t pooled_width, int64_t, int64_t batch_size,
                           int64_t channels, int64_t height, int64_t width, Output& out) {
  const int64_t bins = std::max<int64_t>(bins_of(pooled_height, pooled_width), 1);
  prepare_images_of(grad, rois, pooled_height, pooled_width, {batch_size, channels, height, width},
                    channels / bins, "ps_roi_align_backward_kernel", out);
  check_places(grad, channel_mapping, "channel_mapping", "ps_roi_align_backward_kernel");
}

void ps_roi_pool(const Tensor& input, const Tensor& rois, double, int64_t pooled_height, int64_t pooled_width,
                 Output& result0, Output& result1) {
  const Dims sizes = spread_over_bins(input, rois, pooled_height, pooled_width, "ps_roi_pool_forward_kernel");
  result0.prepare(sizes, input.dtype(), input.device());
  result1.prepare(sizes, DType::int32, input.device());
}
void ps_roi_pool_backward(const Tensor& grad, const Tensor& rois, const Tensor& channel_mapping, double,
                          int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                          int64_t height, int64_t width, Output& out) {
  const int64_t bins = std::max<int64_t>(bins_of(pooled_height, pooled_width), 1);
  prepare_images_of(grad, rois, pooled_height, pooled_width, {batch_size, channels, height, width},
                    channels / bins, "ps_roi_pool_backward_kernel", out);
  check_places(grad, channel_mapping, "channel_mapping", "ps_roi_pool_backward_kernel");
}

namespace {

// The shape of the result; refuses what does not fit together.
Dims deformed(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
              const Tensor& bias, std::array<int64_t, 2> stride, std::array<int64_t, 2> pad,
              std::array<int64_t, 2> dilation, int64_t groups, int64_t offset_groups, bool use_mask) {
  MT_CHECK(input.dim() == 4 && weight.dim() == 4 && offset.dim() == 4 && (!use_mask || mask.dim() == 4),
           "deform_conv2d: expected 4D tensors for input, weight, offset and mask, got ",
           to_string(input.sizes()), ", ", to_string(weight.sizes()), ", ", to_string(offset.sizes()),
           " and ", to_string(mask.sizes()));
  check_same_device({&input, &weight, &offset, &bias});
  if (use_mask) check_same_device({&input, &mask});
  for (const Tensor* t : {&weight, &offset, &bias})
    MT_CHECK(t->dtype() == input.dtype(), "deform_conv2d: expected tensors of one dtype, got ",
             info(input.dtype()).legacy, " and ", info(t->dtype()).legacy);
  MT_CHECK(!use_mask || mask.dtype() == input.dtype(), "deform_conv2d: expected tensors of one dtype, got ",
           info(input.dtype()).legacy, " and ", info(mask.dtype()).legacy, " for the mask");
  check_floating(input, "deformable_im2col");
  const IntList x = input.sizes(), w = weight.sizes(), o = offset.sizes();
  MT_CHECK(w[2] > 0 && w[3] > 0, "weight_h: ", w[2], " weight_w: ", w[3]);
  MT_CHECK(stride[0] > 0 && stride[1] > 0, "stride_h: ", stride[0], " stride_w: ", stride[1]);
  MT_CHECK(pad[0] >= 0 && pad[1] >= 0, "pad_h: ", pad[0], " pad_w: ", pad[1]);
  MT_CHECK(dilation[0] > 0 && dilation[1] > 0, "dilation_h: ", dilation[0], " dilation_w: ", dilation[1]);
  MT_CHECK(groups > 0 && w[1] * groups == x[1] && w[0] % groups == 0, "deform_conv2d: a weight of ",
           to_string(w), " in ", groups, " groups does not fit an input of ", x[1], " channels");
  MT_CHECK(offset_groups > 0 && o[1] == offset_groups * 2 * w[2] * w[3],
           "offset.shape[1] is not valid: got: ", o[1], " expected: ", offset_groups * 2 * w[2] * w[3]);
  MT_CHECK(x[1] % offset_groups == 0, "deform_conv2d: ", x[1], " channels cannot be divided into ",
           offset_groups, " groups of offsets");
  MT_CHECK(o[0] == x[0], "invalid batch size of offset");
  Dims out{x[0], w[0], 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = x[2 + i] + 2 * pad[i] - (dilation[i] * (w[2 + i] - 1) + 1);
    out[2 + i] = (reach >= 0 ? reach / stride[i] : -((-reach + stride[i] - 1) / stride[i])) + 1;
  }
  MT_CHECK(o[2] == out[2] && o[3] == out[3], "offset output dims: (", o[2], ", ", o[3],
           ") - computed output dims: (", out[2], ", ", out[3], ")");
  MT_CHECK(out[2] > 0 && out[3] > 0, "Calculated output size too small - out_h: ", out[2],
           " out_w: ", out[3]);
  MT_CHECK(bias.numel() == w[0], "deform_conv2d: expected a bias of ", w[0], " elements, got ",
           to_string(bias.sizes()));
  if (use_mask) {
    const IntList m = mask.sizes();
    MT_CHECK(m[1] == offset_groups * w[2] * w[3], "mask.shape[1] is not valid: got: ", m[1],
             " expected: ", offset_groups * w[2] * w[3]);
    MT_CHECK(m[0] == x[0], "invalid batch size of mask");
    MT_CHECK(m[2] == out[2] && m[3] == out[3], "mask output dims: (", m[2], ", ", m[3],
             ") - computed output dims: (", out[2], ", ", out[3], ")");
  }
  return out;
}

}  // namespace

void deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
                   const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
                   int64_t dilation_h, int64_t dilation_w, int64_t groups, int64_t offset_groups,
                   bool use_mask, Output& out) {
  out.prepare(deformed(input, weight, offset, mask, bias, {stride_h, stride_w}, {pad_h, pad_w},
                       {dilation_h, dilation_w}, groups, offset_groups, use_mask),
              input.dtype(), input.device());
}
void deform_conv2d_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                            const Tensor& offset, const Tensor& mask, const Tensor& bias, int64_t stride_h,
                            int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
                            int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask,
                            Output& result0, Output& result1, Output& result2, Output& result3,
                            Output& result4) {
  const Dims sizes = deformed(input, weight, offset, mask, bias, {stride_h, stride_w}, {pad_h, pad_w},
                              {dilation_h, dilation_w}, groups, offset_groups, use_mask);
  check_same_device({&grad, &input});
  MT_CHECK(std::ranges::equal(grad.sizes(), sizes) && grad.dtype() == input.dtype(),
           "deform_conv2d: expected a gradient of ", to_string(sizes), " of the input's dtype, got ",
           to_string(grad.sizes()));
  const auto like = [](const Tensor& t, Output& out) { out.prepare(t.sizes(), t.dtype(), t.device()); };
  like(input, result0), like(weight, result1), like(offset, result2), like(mask, result3),
      like(bias, result4);
}

void box_iou_rotated(const Tensor& boxes1, const Tensor& boxes2, Output& out) {
  const auto check = [](const Tensor& boxes, const char* name) {
    MT_CHECK(boxes.dim() == 2 && boxes.sizes()[1] == 5, name, " should have shape (N, 5), got ",
             to_string(boxes.sizes()));
  };
  check(boxes1, "boxes1");
  check(boxes2, "boxes2");
  check_same_device({&boxes1, &boxes2});
  MT_CHECK(boxes1.dtype() == boxes2.dtype(), "boxes1 and boxes2 must have the same dtype");
  check_floating(boxes1, "box_iou_rotated");
  out.prepare(Dims{boxes1.sizes()[0], boxes2.sizes()[0]}, boxes1.dtype(), boxes1.device());
}

}  // namespace mt::infer
