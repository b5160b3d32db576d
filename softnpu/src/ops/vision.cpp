// Sampling of images: at the positions of a grid, and in boxes.
#include "kernels/resample/grid_sample.h"
#include "kernels/resample/roi_align.h"
#include "op_plans.h"
#include "ops/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

k::GridOptions grid_options(const Plan& plan, int64_t mode, int64_t padding, bool align_corners, int dims) {
  if (mode < 0 || mode > (dims == 2 ? 2 : 1))
    plan.invalid("interpolationMode is ", mode, ", wanted 0 (linear), 1 (nearest)",
                 dims == 2 ? " or 2 (cubic)" : "");
  if (padding < 0 || padding > 2)
    plan.invalid("paddingMode is ", padding, ", wanted 0 (zeros), 1 (border) or 2 (reflection)");
  return {k::GridMode(mode), k::GridPadding(padding), align_corners};
}

// [N, C, positions...]
std::vector<int64_t> require_grid(const Plan& plan, const Operand& in, const Operand& grid, int dims) {
  plan.require_ndim(in, "input", dims + 2);
  plan.require_ndim(grid, "grid", dims + 2);
  plan.require_dtype(in, "input", domains::floating);
  plan.require_same_dtype(in, "input", grid, "grid");
  if (grid.sizes[0] != in.sizes[0] || grid.sizes[dims + 1] != dims)
    plan.invalid("tensor 'grid' has shape ", shape_text(grid), ", wanted [", in.sizes[0], ", ..., ", dims,
                 "]");
  for (int i = 2; i < in.ndim; ++i)
    if (in.sizes[i] == 0) plan.invalid("tensor 'input' has the empty shape ", shape_text(in));
  std::vector<int64_t> sizes{in.sizes[0], in.sizes[1]};
  sizes.insert(sizes.end(), grid.sizes + 1, grid.sizes + 1 + dims);
  return sizes;
}

void grid_sample(Plan& plan, int dims, const aclTensor* input, const aclTensor* grid, int64_t mode,
                 int64_t padding, bool align_corners, const aclTensor* out) {
  const Operand in = plan.input(input, "input"), where = plan.input(grid, "grid"),
                to = plan.output(out, "out");
  const k::GridOptions options = grid_options(plan, mode, padding, align_corners, dims);
  plan.require_shape(to, "out", require_grid(plan, in, where, dims));
  plan.require_same_dtype(in, "input", to, "out");
  plan.run([=](const aclOpExecutor& e) { k::grid_sample(in.view(e), where.view(e), to.view(e), options); });
}

void grid_sample_backward(Plan& plan, int dims, const aclTensor* gradOutput, const aclTensor* input,
                          const aclTensor* grid, int64_t mode, int64_t padding, bool align_corners,
                          const aclBoolArray* mask, const aclTensor* inputGrad, const aclTensor* gridGrad) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), in = plan.input(input, "input"),
                where = plan.input(grid, "grid");
  const std::optional<Operand> dx = masked_output(plan, inputGrad, "inputGrad", wanted(mask, 0)),
                               dgrid = masked_output(plan, gridGrad, "gridGrad", wanted(mask, 1));
  const k::GridOptions options = grid_options(plan, mode, padding, align_corners, dims);
  plan.require_shape(grad, "gradOutput", require_grid(plan, in, where, dims));
  plan.require_same_dtype(grad, "gradOutput", in, "input");
  for (const auto& [result, model, name] :
       {std::tuple{&dx, &in, "inputGrad"}, std::tuple{&dgrid, &where, "gridGrad"}}) {
    if (!*result) continue;
    plan.require_same_shape(**result, name, *model, "its tensor");
    plan.require_same_dtype(**result, name, *model, "its tensor");
  }
  plan.run([=](const aclOpExecutor& e) {
    // A gradient nobody asked for goes into memory of our own.
    const k::Temporary spare_input(dx ? std::vector<int64_t>{0} : sizes_of(in), in.dtype),
        spare_grid(dgrid ? std::vector<int64_t>{0} : sizes_of(where), where.dtype);
    k::grid_sample_backward(grad.view(e), in.view(e), where.view(e), dx ? dx->view(e) : spare_input.view(),
                            dgrid ? dgrid->view(e) : spare_grid.view(), options);
  });
}

}  // namespace

void GridSampler2D(Plan& plan, const aclTensor* input, const aclTensor* grid, int64_t interpolationMode,
                   int64_t paddingMode, bool alignCorners, aclTensor* out) {
  grid_sample(plan, 2, input, grid, interpolationMode, paddingMode, alignCorners, out);
}
void GridSampler3D(Plan& plan, const aclTensor* input, const aclTensor* grid, int64_t interpolationMode,
                   int64_t paddingMode, bool alignCorners, aclTensor* out) {
  grid_sample(plan, 3, input, grid, interpolationMode, paddingMode, alignCorners, out);
}
void GridSampler2DBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* input,
                           const aclTensor* grid, int64_t interpolationMode, int64_t paddingMode,
                           bool alignCorners, const aclBoolArray* outputMask, aclTensor* inputGrad,
                           aclTensor* gridGrad) {
  grid_sample_backward(plan, 2, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners,
                       outputMask, inputGrad, gridGrad);
}
void GridSampler3DBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* input,
                           const aclTensor* grid, int64_t interpolationMode, int64_t paddingMode,
                           bool alignCorners, const aclBoolArray* outputMask, aclTensor* inputGrad,
                           aclTensor* gridGrad) {
  grid_sample_backward(plan, 3, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners,
                       outputMask, inputGrad, gridGrad);
}

void AffineGrid(Plan& plan, const aclTensor* theta, const aclIntArray* size, bool alignCorners,
                aclTensor* out) {
  const Operand maps = plan.input(theta, "theta"), to = plan.output(out, "out");
  const std::vector<int64_t> sizes = int_list(plan, size, "size");
  if (sizes.size() != 4 && sizes.size() != 5)
    plan.invalid("'size' has ", sizes.size(), " numbers, wanted 4 or 5");
  const int64_t dims = int64_t(sizes.size()) - 2;
  plan.require_shape(maps, "theta", {sizes[0], dims, dims + 1});
  plan.require_dtype(maps, "theta", domains::floating);
  plan.require_same_dtype(maps, "theta", to, "out");
  std::vector<int64_t> wanted{sizes[0]};
  wanted.insert(wanted.end(), sizes.begin() + 2, sizes.end());
  wanted.push_back(dims);
  plan.require_shape(to, "out", wanted);
  plan.run([=](const aclOpExecutor& e) { k::affine_grid(maps.view(e), to.view(e), alignCorners); });
}

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
