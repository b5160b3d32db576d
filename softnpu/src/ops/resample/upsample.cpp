// Interpolation: one function for each direction, and the operators that name its mode and number of dimensions.
#include "kernels/resample/resample.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

using k::Interpolation;

// Scales that are not positive mean that there are none.
std::vector<k::Taps> taps_for(Interpolation mode, const std::vector<int64_t>& in,
                              const std::vector<int64_t>& out, bool align_corners,
                              const std::vector<double>& scales, DType dtype) {
  std::vector<k::Taps> taps;
  for (size_t i = 0; i < in.size(); ++i)
    taps.push_back(k::interpolation_taps(mode, in[i], out[i], align_corners, std::max(scales[i], 0.0),
                                         dtype != DType::float64));
  return taps;
}

// [N, C, space...] with as many dimensions of space as there are scales; returns their sizes.
std::vector<int64_t> space_of(const Plan& plan, const Operand& operand, const char* name, size_t spatial) {
  plan.require_ndim(operand, name, int(spatial) + 2);
  for (int i = 1; i < operand.ndim; ++i)
    if (operand.sizes[i] == 0) plan.invalid("tensor '", name, "' has the empty shape ", shape_text(operand));
  return {operand.sizes + 2, operand.sizes + operand.ndim};
}

void upsample(Plan& plan, Interpolation mode, const aclTensor* self, const aclIntArray* outputSize,
              bool align_corners, const std::vector<double>& scales, const aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::floating | k::dtype_set(DType::uint8));
  plan.require_same_dtype(in, "self", to, "out");
  const std::vector<int64_t> from = space_of(plan, in, "self", scales.size()),
                             made = list_for(plan, outputSize, "outputSize", scales.size());
  std::vector<int64_t> wanted{in.sizes[0], in.sizes[1]};
  wanted.insert(wanted.end(), made.begin(), made.end());
  plan.require_shape(to, "out", wanted);
  plan.run([=](const aclOpExecutor& e) {
    k::resample(in.view(e), to.view(e), taps_for(mode, from, made, align_corners, scales, in.dtype),
                k::ToInteger::round);
  });
}

void upsample_backward(Plan& plan, Interpolation mode, const aclTensor* gradOutput,
                       const aclIntArray* outputSize, const aclIntArray* inputSize, bool align_corners,
                       const std::vector<double>& scales, const aclTensor* out) {
  const Operand grad = plan.input(gradOutput, "gradOut"), to = plan.output(out, "gradInput");
  plan.require_dtype(grad, "gradOut", domains::floating);
  plan.require_same_dtype(grad, "gradOut", to, "gradInput");
  const std::vector<int64_t> made = space_of(plan, grad, "gradOut", scales.size()),
                             from = space_of(plan, to, "gradInput", scales.size());
  plan.require_shape(to, "gradInput", int_list(plan, inputSize, "inputSize"));
  std::vector<int64_t> wanted{to.sizes[0], to.sizes[1]};
  for (const int64_t size : list_for(plan, outputSize, "outputSize", scales.size())) wanted.push_back(size);
  plan.require_shape(grad, "gradOut", wanted);
  plan.run([=](const aclOpExecutor& e) {
    k::resample_transposed(grad.view(e), to.view(e),
                           taps_for(mode, from, made, align_corners, scales, grad.dtype));
  });
}

}  // namespace

void UpsampleBicubic2d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize,
                       const bool alignCorners, const double scalesH, const double scalesW, aclTensor* out) {
  upsample(plan, Interpolation::cubic, self, outputSize, alignCorners, {scalesH, scalesW}, out);
}
void UpsampleBicubic2dAA(Plan& plan, const aclTensor* self, const aclIntArray* outputSize,
                         const bool alignCorners, const double scalesH, const double scalesW,
                         aclTensor* out) {
  upsample(plan, Interpolation::cubic_smoothed, self, outputSize, alignCorners, {scalesH, scalesW}, out);
}
void UpsampleBicubic2dAAGrad(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                             const aclIntArray* inputSize, bool alignCorners, double scalesH, double scalesW,
                             aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::cubic_smoothed, gradOut, outputSize, inputSize, alignCorners,
                    {scalesH, scalesW}, gradInput);
}
void UpsampleBicubic2dBackward(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                               const aclIntArray* inputSize, const bool alignCorners, double scalesH,
                               double scalesW, aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::cubic, gradOut, outputSize, inputSize, alignCorners,
                    {scalesH, scalesW}, gradInput);
}
void UpsampleBilinear2d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize,
                        const bool alignCorners, const double scalesH, const double scalesW, aclTensor* out) {
  upsample(plan, Interpolation::linear, self, outputSize, alignCorners, {scalesH, scalesW}, out);
}
void UpsampleBilinear2dAA(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, bool alignCorners,
                          double scalesH, double scalesW, aclTensor* out) {
  upsample(plan, Interpolation::linear_smoothed, self, outputSize, alignCorners, {scalesH, scalesW}, out);
}
void UpsampleBilinear2dAABackward(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                                  const aclIntArray* inputSize, bool alignCorners, double scalesH,
                                  double scalesW, aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::linear_smoothed, gradOut, outputSize, inputSize, alignCorners,
                    {scalesH, scalesW}, gradInput);
}
void UpsampleBilinear2dBackward(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                                const aclIntArray* inputSize, bool alignCorners, double scalesH,
                                double scalesW, aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::linear, gradOut, outputSize, inputSize, alignCorners,
                    {scalesH, scalesW}, gradInput);
}
void UpsampleBilinear2dBackwardV2(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                                  const aclIntArray* inputSize, bool alignCorners, double scalesH,
                                  double scalesW, aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::linear, gradOut, outputSize, inputSize, alignCorners,
                    {scalesH, scalesW}, gradInput);
}
void UpsampleLinear1d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize,
                      const bool alignCorners, const double scales, aclTensor* out) {
  upsample(plan, Interpolation::linear, self, outputSize, alignCorners, {scales}, out);
}
void UpsampleLinear1dBackward(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                              const aclIntArray* inputSize, bool alignCorners, double scales,
                              aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::linear, gradOut, outputSize, inputSize, alignCorners, {scales},
                    gradInput);
}
void UpsampleNearest1d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, aclTensor* out) {
  upsample(plan, Interpolation::nearest, self, outputSize, false, {0.0}, out);
}
void UpsampleNearest1dBackward(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                               const aclIntArray* inputSize, double scales, aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::nearest, gradOut, outputSize, inputSize, false, {scales}, gradInput);
}
void UpsampleNearest1dV2(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, float scaleL,
                         aclTensor* out) {
  upsample(plan, Interpolation::nearest, self, outputSize, false, {scaleL}, out);
}
void UpsampleNearest2d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, aclTensor* out) {
  upsample(plan, Interpolation::nearest, self, outputSize, false, {0.0, 0.0}, out);
}
void UpsampleNearest2dBackward(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                               const aclIntArray* inputSize, double scalesH, double scalesW,
                               aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::nearest, gradOut, outputSize, inputSize, false, {scalesH, scalesW},
                    gradInput);
}
void UpsampleNearest2dV2(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, float scalesH,
                         float scalesW, aclTensor* out) {
  upsample(plan, Interpolation::nearest, self, outputSize, false, {scalesH, scalesW}, out);
}
void UpsampleNearest3d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, double scalesD,
                       double scalesH, double scalesW, aclTensor* out) {
  upsample(plan, Interpolation::nearest, self, outputSize, false, {scalesD, scalesH, scalesW}, out);
}
void UpsampleNearest3dBackward(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                               const aclIntArray* inputSize, double scalesD, double scalesH, double scalesW,
                               aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::nearest, gradOut, outputSize, inputSize, false,
                    {scalesD, scalesH, scalesW}, gradInput);
}
void UpsampleNearestExact1d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, double scales,
                            aclTensor* out) {
  upsample(plan, Interpolation::nearest_exact, self, outputSize, false, {scales}, out);
}
void UpsampleNearestExact1dBackward(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                                    const aclIntArray* inputSize, double scales, aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::nearest_exact, gradOut, outputSize, inputSize, false, {scales},
                    gradInput);
}
void UpsampleNearestExact2d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, double scalesH,
                            double scalesW, aclTensor* out) {
  upsample(plan, Interpolation::nearest_exact, self, outputSize, false, {scalesH, scalesW}, out);
}
void UpsampleNearestExact2dBackward(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                                    const aclIntArray* inputSize, double scalesH, double scalesW,
                                    aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::nearest_exact, gradOut, outputSize, inputSize, false,
                    {scalesH, scalesW}, gradInput);
}
void UpsampleNearestExact3d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, double scalesD,
                            double scalesH, double scalesW, aclTensor* out) {
  upsample(plan, Interpolation::nearest_exact, self, outputSize, false, {scalesD, scalesH, scalesW}, out);
}
void UpsampleNearestExact3dBackward(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                                    const aclIntArray* inputSize, double scalesD, double scalesH,
                                    double scalesW, aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::nearest_exact, gradOut, outputSize, inputSize, false,
                    {scalesD, scalesH, scalesW}, gradInput);
}
void UpsampleTrilinear3d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, bool alignCorners,
                         double scalesD, double scalesH, double scalesW, aclTensor* out) {
  upsample(plan, Interpolation::linear, self, outputSize, alignCorners, {scalesD, scalesH, scalesW}, out);
}
void UpsampleTrilinear3dBackward(Plan& plan, const aclTensor* gradOut, const aclIntArray* outputSize,
                                 const aclIntArray* inputSize, bool alignCorners, double scalesD,
                                 double scalesH, double scalesW, aclTensor* gradInput) {
  upsample_backward(plan, Interpolation::linear, gradOut, outputSize, inputSize, alignCorners,
                    {scalesD, scalesH, scalesW}, gradInput);
}

}  // namespace softnpu::ops
