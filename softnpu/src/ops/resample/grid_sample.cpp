// Sampling of images at the positions of a grid.
#include "kernels/resample/grid_sample.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

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

}  // namespace softnpu::ops
