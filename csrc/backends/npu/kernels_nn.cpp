// Convolution, pooling, normalisation and interpolation: operators whose ACLNN form differs from the table's.
#include <algorithm>
#include <string_view>

#include "backends/npu/aclnn_call.h"
#include "backends/npu/copy.h"
#include "core/views.h"
#include "generated/npu/kernels.h"

namespace mt::npu {
namespace {

#define MT_ACLNN(name) \
  static aclnn::Function<decltype(name##GetWorkspaceSize)> f { #name }

// One number for each dimension; a single one stands for all, none for `fallback`.
Dims each(IntList list, size_t count, IntList fallback = {}) {
  const IntList numbers = list.empty() ? fallback : list;
  return numbers.size() == 1 ? Dims(count, numbers[0]) : Dims(numbers);
}

// Results that are not needed are left out.
Tensor if_needed(int64_t needs, int64_t which, const Tensor& result) {
  return needs & which ? result : Tensor();
}
std::array<bool, 3> mask_of(int64_t needs) { return {(needs & 1) != 0, (needs & 2) != 0, (needs & 4) != 0}; }

}  // namespace

void convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
              IntList dilation, int64_t groups, const Tensor& out) {
  MT_ACLNN(aclnnConvolution);
  const Dims none(stride.size(), 0);
  aclnn::call(f, out.device(), input, weight, bias, stride, padding, dilation, false, none, groups, out, 0);
}

void convolve_transposed(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList output_size,
                         IntList stride, IntList padding, IntList dilation, int64_t groups,
                         const Tensor& out) {
  MT_ACLNN(aclnnConvolution);
  // What the result has more than the smallest one that the stride allows.
  Dims extra(output_size);
  for (size_t i = 0; i < extra.size(); ++i)
    extra[i] -= (input.sizes()[2 + i] - 1) * stride[i] - 2 * padding[i] +
                dilation[i] * (weight.sizes()[2 + i] - 1) + 1;
  aclnn::call(f, out.device(), input, weight, bias, stride, padding, dilation, true, extra, groups, out, 0);
}

namespace {

// A transposed convolution may have more elements than the last window needs; convolving them again gives more windows
// than there are gradients. Those that are missing are zero.
Tensor for_all_windows(const Tensor& grad_output, const Tensor& input, const Tensor& weight, IntList stride,
                       IntList padding, IntList dilation) {
  Dims sizes(grad_output.sizes());
  for (size_t i = 0; i < stride.size(); ++i)
    sizes[2 + i] =
        (input.sizes()[2 + i] + 2 * padding[i] - dilation[i] * (weight.sizes()[2 + i] - 1) - 1) / stride[i] +
        1;
  if (std::ranges::equal(sizes, grad_output.sizes())) return grad_output;
  const Tensor all = new_tensor(sizes, grad_output.dtype(), grad_output.device());
  MT_ACLNN(aclnnInplaceZero);
  aclnn::call(f, all.device(), all);
  Tensor part = all;
  for (size_t i = 0; i < stride.size(); ++i)
    part = views::slice(part, int64_t(2 + i), 0, grad_output.sizes()[2 + i], 1);
  copy(grad_output, part, false);
  return all;
}

}  // namespace

// The operator wants the weight for its shape only, which the result has.
void convolve_weight(const Tensor& input, const Tensor& grad_output, IntList, IntList stride, IntList padding,
                     IntList dilation, int64_t groups, const Tensor& out) {
  MT_ACLNN(aclnnConvolutionBackward);
  const Dims none(stride.size(), 0);
  const int64_t bias_size[] = {grad_output.sizes()[1]};
  const Tensor grad = for_all_windows(grad_output, input, out, stride, padding, dilation);
  aclnn::call(f, out.device(), grad, input, out, IntList(bias_size), stride, padding, dilation, false, none,
              groups, std::array{false, true, false}, 0, Tensor(), out, Tensor());
}

void avg_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                bool count_include_pad, std::optional<int64_t> divisor_override, const Tensor& out) {
  MT_ACLNN(aclnnAvgPool2d);
  aclnn::call(f, out.device(), self, each(kernel_size, 2), each(stride, 2, kernel_size), each(padding, 2),
              ceil_mode, count_include_pad, divisor_override.value_or(0), 0, out);
}
void avg_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                bool count_include_pad, std::optional<int64_t> divisor_override, const Tensor& out) {
  MT_ACLNN(aclnnAvgPool3d);
  aclnn::call(f, out.device(), self, each(kernel_size, 3), each(stride, 3, kernel_size), each(padding, 3),
              ceil_mode, count_include_pad, divisor_override.value_or(0), out);
}
// Gradients want the input for its shape only, which the result has.
void avg_pool_backward(const Tensor& grad_output, IntList, int64_t spatial, IntList kernel_size,
                       IntList stride, IntList padding, bool ceil_mode, bool count_include_pad,
                       std::optional<int64_t> divisor_override, const Tensor& out) {
  const size_t n = size_t(spatial);
  const Dims kernel = each(kernel_size, n), steps = each(stride, n, kernel_size), pads = each(padding, n);
  const int64_t divisor = divisor_override.value_or(0);
  if (n == 2) {
    MT_ACLNN(aclnnAvgPool2dBackward);
    aclnn::call(f, out.device(), grad_output, out, kernel, steps, pads, ceil_mode, count_include_pad, divisor,
                0, out);
  } else {
    MT_ACLNN(aclnnAvgPool3dBackward);
    aclnn::call(f, out.device(), grad_output, out, kernel, steps, pads, ceil_mode, count_include_pad, divisor,
                out);
  }
}
void adaptive_avg_pool_backward(const Tensor& grad_output, IntList, int64_t spatial, const Tensor& out) {
  if (spatial == 2) {
    MT_ACLNN(aclnnAdaptiveAvgPool2dBackward);
    aclnn::call(f, out.device(), grad_output, out, out);
  } else {
    MT_ACLNN(aclnnAdaptiveAvgPool3dBackward);
    aclnn::call(f, out.device(), grad_output, out, out);
  }
}

namespace {

// Most operators say in int32 where a maximum was found; PyTorch in int64.
template <class Call>
void with_narrow_indices(const Tensor& indices, const Call& call) {
  const Tensor narrow = new_tensor(indices.sizes(), DType::int32, indices.device());
  call(narrow);
  copy(narrow, indices, false);
}

}  // namespace

void max_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                bool ceil_mode, const Tensor& out, const Tensor& indices) {
  if (out.numel() == 0) return;
  MT_ACLNN(aclnnMaxPool2dWithIndices);
  with_narrow_indices(indices, [&](const Tensor& places) {
    aclnn::call(f, out.device(), self, each(kernel_size, 2), each(stride, 2, kernel_size), each(padding, 2),
                each(dilation, 2), ceil_mode, out, places);
  });
}
void max_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                bool ceil_mode, const Tensor& out, const Tensor& indices) {
  if (out.numel() == 0) return;
  MT_ACLNN(aclnnMaxPool3dWithArgmax);
  with_narrow_indices(indices, [&](const Tensor& places) {
    aclnn::call(f, out.device(), self, each(kernel_size, 3), each(stride, 3, kernel_size), each(padding, 3),
                each(dilation, 3), ceil_mode, out, places);
  });
}
void adaptive_max_pool3d(const Tensor& self, IntList output_size, const Tensor& out, const Tensor& indices) {
  if (out.numel() == 0) return;
  MT_ACLNN(aclnnAdaptiveMaxPool3d);
  with_narrow_indices(indices, [&](const Tensor& places) {
    aclnn::call(f, out.device(), self, each(output_size, 3), out, places);
  });
}

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

namespace {

// A line as a plane of one row, for operators that have no form for lines.
Tensor raised(const Tensor& lines) { return views::unsqueeze(lines, -2); }
Dims raised(IntList pad) { return {pad[0], pad[1], 0, 0}; }

// Calls the operator of a mode (reflect, replicate, circular) and a number of dimensions.
#define MT_EDGES(name, ...)                           \
  {                                                   \
    MT_ACLNN(name);                                   \
    return aclnn::call(f, out.device(), __VA_ARGS__); \
  }
[[noreturn]] void fail_edges(int64_t mode, size_t dims) {
  fail(ErrorKind::not_implemented, "padding of ", dims, " dimensions in mode ", mode,
       " is not implemented for npu");
}

}  // namespace

void extend_edges(const Tensor& self, IntList pad, int64_t mode, const Tensor& out) {
  const size_t dims = pad.size() / 2;
  if (mode == 0 && dims == 1) MT_EDGES(aclnnReflectionPad1d, self, pad, out)
  if (mode == 0 && dims == 2) MT_EDGES(aclnnReflectionPad2d, self, pad, out)
  if (mode == 0 && dims == 3) MT_EDGES(aclnnReflectionPad3d, self, pad, out)
  if (mode == 1 && dims == 1) MT_EDGES(aclnnReplicationPad1d, self, pad, out)
  if (mode == 1 && dims == 2) MT_EDGES(aclnnReplicationPad2d, self, pad, out)
  if (mode == 1 && dims == 3) MT_EDGES(aclnnReplicationPad3d, self, pad, out)
  if (mode == 2 && dims == 1) MT_EDGES(aclnnCircularPad2d, raised(self), raised(pad), raised(out))
  if (mode == 2 && dims == 2) MT_EDGES(aclnnCircularPad2d, self, pad, out)
  if (mode == 2 && dims == 3) MT_EDGES(aclnnCircularPad3d, self, pad, out)
  fail_edges(mode, dims);
}
void extend_edges_backward(const Tensor& self, IntList pad, int64_t mode, const Tensor& out) {
  const size_t dims = pad.size() / 2;
  if (mode == 0 && dims == 1) MT_EDGES(aclnnReflectionPad1dBackward, self, out, pad, out)
  if (mode == 0 && dims == 2) MT_EDGES(aclnnReflectionPad2dBackward, self, out, pad, out)
  if (mode == 0 && dims == 3) MT_EDGES(aclnnReflectionPad3dBackward, self, out, pad, out)
  if (mode == 1 && dims == 1) MT_EDGES(aclnnReplicationPad1dBackward, self, out, pad, out)
  if (mode == 1 && dims == 2) MT_EDGES(aclnnReplicationPad2dBackward, self, out, pad, out)
  if (mode == 1 && dims == 3) MT_EDGES(aclnnReplicationPad3dBackward, self, out, pad, out)
  if (mode == 2 && dims == 1)
    MT_EDGES(aclnnCircularPad2dBackward, raised(self), raised(out), raised(pad), raised(out))
  if (mode == 2 && dims == 2) MT_EDGES(aclnnCircularPad2dBackward, self, out, pad, out)
  if (mode == 2 && dims == 3) MT_EDGES(aclnnCircularPad3dBackward, self, out, pad, out)
  fail_edges(mode, dims);
}
#undef MT_EDGES

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
