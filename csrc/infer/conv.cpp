// Convolutions. Lists hold one number per spatial dimension; tensors are batched.
#include "generated/infer/conv.h"

namespace mt::infer {
namespace {

std::string by_x(const Dims& sizes) {
  std::string text;
  for (int64_t size : sizes) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

void check_options(size_t spatial, IntList stride, IntList padding, IntList dilation, int64_t groups) {
  MT_CHECK(spatial >= 1 && spatial <= 3, "convolution: wanted 1, 2 or 3 spatial dimensions, got ", spatial);
  const std::pair<const char*, IntList> lists[] = {
      {"stride", stride}, {"padding", padding}, {"dilation", dilation}};
  for (const auto& [name, list] : lists)
    MT_CHECK(list.size() == spatial, "expected ", name, " to be a single integer value or a list of ",
             spatial, " values to match the convolution dimensions, but got ", name, "=", to_string(list));
  for (int64_t p : padding) MT_CHECK(p >= 0, "negative padding is not supported");
  for (int64_t s : stride) MT_CHECK(s > 0, "non-positive stride is not supported");
  for (int64_t d : dilation) MT_CHECK(d > 0, "dilation should be greater than zero");
  MT_CHECK(groups > 0, "non-positive groups is not supported");
  constexpr int64_t limit = int64_t(1) << 31;  // keeps products of these within 64 bits
  for (const auto& [name, list] : lists) {
    for (int64_t value : list) MT_CHECK(value < limit, "convolution: ", name, " of ", value, " is too large");
  }
}

void check_types(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  check_same_device({&input, &weight, &bias});
  MT_CHECK(!bias.defined() || bias.dtype() == input.dtype(), "Input type (", c_name(input.dtype()),
           ") and bias type (", bias.defined() ? c_name(bias.dtype()) : "", ") should be the same");
  MT_CHECK(input.dtype() == weight.dtype(), "Input type (torch.", info(input.dtype()).legacy,
           "Tensor) and weight type (torch.", info(weight.dtype()).legacy,
           "Tensor) should be the same or input should be a MKLDNN tensor and weight is a dense tensor");
  MT_CHECK_AS(not_implemented, input.dtype() != DType::boolean,
              "\"slow_conv2d_cpu\" not implemented for 'Bool'");
}

void check_bias(const Tensor& weight, const Tensor& bias, int64_t channels) {
  MT_CHECK(!bias.defined() || (bias.dim() == 1 && bias.sizes()[0] == channels), "Given weight of size ",
           to_string(weight.sizes()), ", expected bias to be 1-dimensional with ", channels,
           " elements, but got bias of size ", bias.defined() ? to_string(bias.sizes()) : "", " instead");
}

void check_dims(const Tensor& input, const Tensor& weight) {
  MT_CHECK(weight.dim() > 2, "weight should have at least three dimensions");
  MT_CHECK(input.dim() == weight.dim(), "Expected ", weight.dim(), "-dimensional input for ", weight.dim(),
           "-dimensional weight ", to_string(weight.sizes()), ", but got ", input.dim(),
           "-dimensional input of size ", to_string(input.sizes()), " instead");
}

// The spatial sizes that a convolution makes of `in`; kernels that do not fit are refused.
Dims convolved(IntList in, IntList kernel, IntList stride, IntList padding, IntList dilation) {
  Dims padded, reach, out;
  bool fits = true;
  for (size_t d = 0; d < in.size(); ++d) {
    MT_CHECK(kernel[d] > 0, "kernel size should be greater than zero, but got shape ", to_string(kernel));
    padded.push_back(in[d] + 2 * padding[d]);
    reach.push_back(dilation[d] * (kernel[d] - 1) + 1);
    fits &= reach[d] <= padded[d];
    out.push_back((padded[d] - reach[d]) / stride[d] + 1);
  }
  MT_CHECK(fits, "Calculated padded input size per channel: (", by_x(padded), "). Kernel size: (",
           by_x(reach), "). Kernel size can't be greater than actual input size");
  return out;
}

// Output padding beyond a stride makes room for outputs that are not there.
bool within(IntList sizes, const Dims& possible) {
  return std::ranges::equal(sizes, possible, [](int64_t size, int64_t most) { return size <= most; });
}

Dims with_channels(int64_t batch, int64_t channels, IntList spatial) {
  Dims sizes{batch, channels};
  for (int64_t size : spatial) sizes.push_back(size);
  return sizes;
}

}  // namespace

void convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
              IntList dilation, int64_t groups, Output& out) {
  check_dims(input, weight);
  check_options(size_t(weight.dim() - 2), stride, padding, dilation, groups);
  const IntList x = input.sizes(), w = weight.sizes();
  MT_CHECK(w[0] >= groups, "Given groups=", groups, ", expected weight to be at least ", groups,
           " at dimension 0, but got weight of size ", to_string(w), " instead");
  MT_CHECK(w[0] % groups == 0, "Given groups=", groups, ", expected weight to be divisible by ", groups,
           " at dimension 0, but got weight of size [", to_string(w), "] instead");
  MT_CHECK(x[1] == w[1] * groups, "Given groups=", groups, ", weight of size ", to_string(w),
           ", expected input", to_string(x), " to have ", w[1] * groups, " channels, but got ", x[1],
           " channels instead");
  check_bias(weight, bias, w[0]);
  check_types(input, weight, bias);
  const Dims spatial = convolved(x.subspan(2), w.subspan(2), stride, padding, dilation);
  out.prepare_images(with_channels(x[0], w[0], spatial), input.dtype(), input.device(), {&input, &weight});
}

void convolve_transposed(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList output_size,
                         IntList stride, IntList padding, IntList dilation, int64_t groups, Output& out) {
  check_dims(input, weight);
  check_options(size_t(weight.dim() - 2), stride, padding, dilation, groups);
  const IntList x = input.sizes(), w = weight.sizes();
  MT_CHECK(w[0] % groups == 0 && w[0] >= groups, "Given transposed=1, groups=", groups,
           ", expected weight to be divisible by ", groups, " at dimension 0, but got weight of size ",
           to_string(w), " instead");
  MT_CHECK(x[1] == w[0], "Given transposed=1, weight of size ", to_string(w), ", expected input",
           to_string(x), " to have ", w[0], " channels, but got ", x[1], " channels instead");
  check_bias(weight, bias, w[1] * groups);
  check_types(input, weight, bias);
  for (int64_t size : output_size)
    MT_CHECK(size > 0, "Given input size per channel: (", by_x(Dims(x.subspan(2))),
             "). Calculated output size per channel: (", by_x(Dims(output_size)),
             "). Output size is too small");
  const Dims made = convolved(output_size, w.subspan(2), stride, padding, dilation);
  MT_CHECK(within(x.subspan(2), made), "convolution: an output of ", to_string(output_size),
           " does not belong to an input of ", to_string(x));
  out.prepare_images(with_channels(x[0], w[1] * groups, output_size), input.dtype(), input.device(),
                     {&input, &weight});
}

void convolve_weight(const Tensor& input, const Tensor& grad_output, IntList kernel_size, IntList stride,
                     IntList padding, IntList dilation, int64_t groups, Output& out) {
  const IntList x = input.sizes(), y = grad_output.sizes();
  MT_CHECK(x.size() >= 3 && x.size() == y.size() && kernel_size.size() + 2 == x.size() && x[0] == y[0],
           "convolution: a gradient of ", to_string(y), " does not belong to an input of ", to_string(x));
  check_options(kernel_size.size(), stride, padding, dilation, groups);
  check_types(input, grad_output, Tensor());
  const Dims made = convolved(x.subspan(2), kernel_size, stride, padding, dilation);
  MT_CHECK(within(y.subspan(2), made) && x[1] % groups == 0 && y[1] % groups == 0,
           "convolution: a gradient of ", to_string(y), " does not belong to an input of ", to_string(x));
  out.prepare(with_channels(y[1], x[1] / groups, kernel_size), input.dtype(), input.device());
}

}  // namespace mt::infer
