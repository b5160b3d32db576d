// Regions of images brought to one size.
#include "kernels/vision/roi_align.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

void require_boxes(const Plan& plan, const Operand& images, const Operand& boxes, const Operand& pooled,
                   int64_t pooled_height, int64_t pooled_width, int64_t samples) {
  plan.require_ndim(images, "self", 4);
  if (samples > 1000) plan.invalid("samplingRatio is ", samples, ", wanted at most 1000");
  plan.require_dtype(images, "self", domains::floating);
  plan.require_dtype(boxes, "boxes", domains::floating);
  plan.require_ndim(boxes, "boxes", 2);
  plan.require_shape(pooled, "out", {boxes.sizes[0], images.sizes[1], pooled_height, pooled_width});
  plan.require_dtype(pooled, "out", domains::floating);
}

}  // namespace

void RoiAlignV2(Plan& plan, const aclTensor* self, const aclTensor* boxes, int64_t pooledHeight,
                int64_t pooledWidth, float spatialScale, int64_t samplingRatio, bool aligned,
                aclTensor* out) {
  const Operand images = plan.input(self, "self"), regions = plan.input(boxes, "boxes"),
                to = plan.output(out, "out");
  require_boxes(plan, images, regions, to, pooledHeight, pooledWidth, samplingRatio);
  plan.require_shape(regions, "boxes", {regions.sizes[0], 5});
  const k::RoiOptions options{spatialScale, samplingRatio, aligned, false};
  plan.run(
      [=](const aclOpExecutor& e) { k::roi_align(images.view(e), regions.view(e), options, to.view(e)); });
}

void RoiAlignV2Backward(Plan& plan, const aclTensor* gradOutput, const aclTensor* boxes,
                        const aclIntArray* inputShape, int64_t pooledHeight, int64_t pooledWidth,
                        float spatialScale, int64_t samplingRatio, bool aligned, aclTensor* gradInput) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), regions = plan.input(boxes, "boxes"),
                to = plan.output(gradInput, "gradInput");
  plan.require_shape(to, "gradInput", int_list(plan, inputShape, "inputShape"));
  require_boxes(plan, to, regions, grad, pooledHeight, pooledWidth, samplingRatio);
  plan.require_shape(regions, "boxes", {regions.sizes[0], 5});
  const k::RoiOptions options{spatialScale, samplingRatio, aligned, false};
  plan.run([=](const aclOpExecutor& e) {
    k::roi_align_backward(grad.view(e), regions.view(e), options, to.view(e));
  });
}

// The images of the boxes come in a tensor of their own.
void RoiAlign(Plan& plan, const aclTensor* self, const aclTensor* rois, const aclTensor* batchIndices,
              const char* mode, int outputHeight, int outputWidth, int samplingRatio, float spatialScale,
              aclTensor* out) {
  const Operand images = plan.input(self, "self"), regions = plan.input(rois, "rois"),
                numbers = plan.input(batchIndices, "batchIndices"), to = plan.output(out, "out");
  require_boxes(plan, images, regions, to, outputHeight, outputWidth, samplingRatio);
  plan.require_shape(regions, "rois", {regions.sizes[0], 4});
  plan.require_shape(numbers, "batchIndices", {regions.sizes[0]});
  plan.require_dtype(numbers, "batchIndices", domains::integral);
  const std::string_view how = text_of(mode, "avg");
  if (how != "avg" && how != "max") plan.invalid("mode is '", how, "', wanted 'avg' or 'max'");
  const k::RoiOptions options{spatialScale, samplingRatio, false, how == "max"};
  plan.run([=](const aclOpExecutor& e) {
    const k::Temporary joined({regions.sizes[0], 5}, DType::float64);
    int64_t sizes[] = {regions.sizes[0], 4}, strides[] = {5, 1};
    double* first = joined.view().as<double>();
    k::copy(numbers.view(e), {first, sizes, strides, 1, DType::float64});
    k::copy(regions.view(e), {first + 1, sizes, strides, 2, DType::float64});
    k::roi_align(images.view(e), joined.view(), options, to.view(e));
  });
}

}  // namespace softnpu::ops
