#include "generated/npu/conv.h"

#include <algorithm>
#include <array>

#include "backends/npu/aclnn_call.h"
#include "core/views.h"

namespace mt::npu {

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
  npu().copy(grad_output, part, false);
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

}  // namespace mt::npu
