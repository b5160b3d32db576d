#include "generated/npu/pool.h"

#include "backends/npu/aclnn_call.h"

namespace mt::npu {
namespace {

// One number for each dimension; a single one stands for all, none for `fallback`.
Dims each(IntList list, size_t count, IntList fallback = {}) {
  const IntList numbers = list.empty() ? fallback : list;
  return numbers.size() == 1 ? Dims(count, numbers[0]) : Dims(numbers);
}

}  // namespace

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
  npu().copy(narrow, indices, false);
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

}  // namespace mt::npu
