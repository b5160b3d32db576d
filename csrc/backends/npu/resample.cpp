#include "generated/npu/resample.h"

#include <array>

#include "backends/npu/aclnn_call.h"

namespace mt::npu {

void grid_sampler_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid, int64_t mode,
                           int64_t padding, bool align_corners, const Tensor& grad_input,
                           const Tensor& grad_grid) {
  if (input.dim() == 4) {
    MT_ACLNN(aclnnGridSampler2DBackward);
    aclnn::call(f, input.device(), grad_output, input, grid, mode, padding, align_corners,
                std::array{true, true}, grad_input, grad_grid);
  } else {
    MT_ACLNN(aclnnGridSampler3DBackward);
    aclnn::call(f, input.device(), grad_output, input, grid, mode, padding, align_corners,
                std::array{true, true}, grad_input, grad_grid);
  }
}

namespace {

[[noreturn]] void fail_interpolation(std::string_view mode, size_t dims) {
  fail(ErrorKind::not_implemented, "interpolation of ", dims, " dimensions in mode ", mode,
       " is not implemented for npu");
}

}  // namespace

// Calls the operator of a mode and a number of dimensions.
#define MT_WAY(name, mode_name, count, ...)           \
  if (mode == mode_name && dims == count) {           \
    MT_ACLNN(name);                                   \
    return aclnn::call(f, out.device(), __VA_ARGS__); \
  }
#define MT_SCALES1 scales[0]
#define MT_SCALES2 scales[0], scales[1]
#define MT_SCALES3 scales[0], scales[1], scales[2]

void interpolate(const Tensor& self, IntList output_size, std::string_view mode, bool align_corners,
                 std::span<const double> scales, const Tensor& out) {
  const size_t dims = output_size.size();
  MT_WAY(aclnnUpsampleNearest1dV2, "nearest", 1, self, output_size, MT_SCALES1, out)
  MT_WAY(aclnnUpsampleNearest2dV2, "nearest", 2, self, output_size, MT_SCALES2, out)
  MT_WAY(aclnnUpsampleNearest3d, "nearest", 3, self, output_size, MT_SCALES3, out)
  MT_WAY(aclnnUpsampleNearestExact1d, "nearest-exact", 1, self, output_size, MT_SCALES1, out)
  MT_WAY(aclnnUpsampleNearestExact2d, "nearest-exact", 2, self, output_size, MT_SCALES2, out)
  MT_WAY(aclnnUpsampleNearestExact3d, "nearest-exact", 3, self, output_size, MT_SCALES3, out)
  MT_WAY(aclnnUpsampleLinear1d, "linear", 1, self, output_size, align_corners, MT_SCALES1, out)
  MT_WAY(aclnnUpsampleBilinear2d, "linear", 2, self, output_size, align_corners, MT_SCALES2, out)
  MT_WAY(aclnnUpsampleTrilinear3d, "linear", 3, self, output_size, align_corners, MT_SCALES3, out)
  MT_WAY(aclnnUpsampleBicubic2d, "cubic", 2, self, output_size, align_corners, MT_SCALES2, out)
  MT_WAY(aclnnUpsampleBilinear2dAA, "linear-aa", 2, self, output_size, align_corners, MT_SCALES2, out)
  MT_WAY(aclnnUpsampleBicubic2dAA, "cubic-aa", 2, self, output_size, align_corners, MT_SCALES2, out)
  fail_interpolation(mode, dims);
}

void interpolate_backward(const Tensor& grad, IntList input_size, std::string_view mode, bool align_corners,
                          std::span<const double> scales, const Tensor& out) {
  const size_t dims = scales.size();
  const IntList size = grad.sizes().last(dims);
  MT_WAY(aclnnUpsampleNearest1dBackward, "nearest", 1, grad, size, input_size, MT_SCALES1, out)
  MT_WAY(aclnnUpsampleNearest2dBackward, "nearest", 2, grad, size, input_size, MT_SCALES2, out)
  MT_WAY(aclnnUpsampleNearest3dBackward, "nearest", 3, grad, size, input_size, MT_SCALES3, out)
  MT_WAY(aclnnUpsampleNearestExact1dBackward, "nearest-exact", 1, grad, size, input_size, MT_SCALES1, out)
  MT_WAY(aclnnUpsampleNearestExact2dBackward, "nearest-exact", 2, grad, size, input_size, MT_SCALES2, out)
  MT_WAY(aclnnUpsampleNearestExact3dBackward, "nearest-exact", 3, grad, size, input_size, MT_SCALES3, out)
  MT_WAY(aclnnUpsampleLinear1dBackward, "linear", 1, grad, size, input_size, align_corners, MT_SCALES1, out)
  MT_WAY(aclnnUpsampleBilinear2dBackward, "linear", 2, grad, size, input_size, align_corners, MT_SCALES2, out)
  MT_WAY(aclnnUpsampleTrilinear3dBackward, "linear", 3, grad, size, input_size, align_corners, MT_SCALES3,
         out)
  MT_WAY(aclnnUpsampleBicubic2dBackward, "cubic", 2, grad, size, input_size, align_corners, MT_SCALES2, out)
  MT_WAY(aclnnUpsampleBilinear2dAABackward, "linear-aa", 2, grad, size, input_size, align_corners, MT_SCALES2,
         out)
  MT_WAY(aclnnUpsampleBicubic2dAAGrad, "cubic-aa", 2, grad, size, input_size, align_corners, MT_SCALES2, out)
  fail_interpolation(mode, dims);
}

}  // namespace mt::npu
