// The convolutions that people call, in terms of the three kernels.
#include "generated/ops/composites/conv.h"

#include "generated/ops/conv.h"
#include "generated/ops/view.h"

namespace mt::composites {
namespace {

// One number stands for all dimensions.
Dims filled(IntList list, size_t spatial) {
  return list.size() == 1 && spatial > 1 ? Dims(spatial, list[0]) : Dims(list);
}

Tensor transposed_convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
                              IntList padding, IntList dilation, IntList output_padding, int64_t groups) {
  constexpr const char* names[] = {"depth", "height", "width"};
  const size_t spatial = stride.size();
  MT_CHECK(size_t(input.dim()) == spatial + 2 && weight.dim() == input.dim(), "Expected ", weight.dim(),
           "-dimensional input for ", weight.dim(), "-dimensional weight ", to_string(weight.sizes()),
           ", but got ", input.dim(), "-dimensional input of size ", to_string(input.sizes()), " instead");
  for (size_t d = 0; d < spatial; ++d) {
    MT_CHECK(output_padding[d] >= 0, "negative output_padding is not supported");
    MT_CHECK(stride[d] > 0, "non-positive stride is not supported");
    MT_CHECK(dilation[d] > 0, "non-positive dilation is not supported");
    constexpr int64_t limit = int64_t(1) << 31;  // keeps the output's size within 64 bits
    MT_CHECK(stride[d] < limit && padding[d] > -limit && padding[d] < limit && dilation[d] < limit &&
                 output_padding[d] < limit,
             "convolution: stride, padding, dilation or output_padding is too large");
    if (output_padding[d] < stride[d] || output_padding[d] < dilation[d]) continue;
    std::string got;
    const std::pair<const char*, IntList> lists[] = {
        {"output_padding", output_padding}, {"stride", stride}, {"dilation", dilation}};
    for (const auto& [name, list] : lists) {
      for (size_t i = 0; i < spatial; ++i)
        got += " " + std::string(name) + "_" + names[3 - spatial + i] + ": " + std::to_string(list[i]);
    }
    fail(ErrorKind::runtime, "output padding must be smaller than either stride or dilation, but got", got);
  }
  Dims size;
  for (size_t d = 0; d < spatial; ++d)
    size.push_back((input.sizes()[2 + d] - 1) * stride[d] - 2 * padding[d] +
                   dilation[d] * (weight.sizes()[2 + d] - 1) + output_padding[d] + 1);
  return ops::_convolve_transposed(input, weight, bias, size, stride, padding, dilation, groups);
}

// Runs f on a batch: a single image becomes a batch of one.
template <class F>
Tensor batched(const Tensor& input, const char* name, int64_t spatial, F&& f) {
  MT_CHECK(input.dim() == spatial + 1 || input.dim() == spatial + 2, "Expected ", spatial + 1,
           "D (unbatched) or ", spatial + 2, "D (batched) input to ", name, spatial,
           "d, but got input of size: ", to_string(input.sizes()));
  if (input.dim() == spatial + 2) return f(input);
  return ops::squeeze(f(ops::unsqueeze(input, 0)), 0);
}

Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
               IntList dilation, int64_t groups, int64_t spatial) {
  const size_t n = size_t(spatial);
  return batched(input, "conv", spatial, [&](const Tensor& x) {
    return ops::_convolve(x, weight, bias, filled(stride, n), filled(padding, n), filled(dilation, n),
                          groups);
  });
}

// padding='same' needs dilation * (kernel - 1) zeros. An odd one is put on both sides and the first output,
// which saw it on the wrong one, is left out.
Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
               std::string_view padding, IntList dilation, int64_t groups, int64_t spatial) {
  const size_t n = size_t(spatial);
  const Dims steps = filled(stride, n), spread = filled(dilation, n);
  Dims zeros(n, 0);
  if (padding == "valid") return forward(input, weight, bias, steps, zeros, spread, groups, spatial);
  MT_CHECK(padding == "same", "Invalid padding string: '", padding, "'");
  MT_CHECK(weight.dim() == spatial + 2, "Expected ", weight.dim(), "-dimensional input for ", weight.dim(),
           "-dimensional weight", to_string(weight.sizes()), ", but got ", input.dim(),
           "-dimensional input of size ", to_string(input.sizes()), " instead");
  MT_CHECK(spread.size() == n, "expected dilation to be a single integer value or a list of ", n,
           " values to match the convolution dimensions, but got dilation=", to_string(spread));
  for (int64_t s : steps) MT_CHECK(s == 1, "padding='same' is not supported for strided convolutions");
  for (size_t d = 0; d < n; ++d) zeros[d] = (spread[d] * (weight.sizes()[2 + d] - 1) + 1) / 2;
  Tensor out = forward(input, weight, bias, steps, zeros, spread, groups, spatial);
  for (size_t d = 0; d < n; ++d) {
    if (spread[d] * (weight.sizes()[2 + d] - 1) % 2 == 0) continue;
    const int64_t dim = out.dim() - spatial + int64_t(d);
    out = ops::slice(out, dim, 1, std::nullopt, 1);
  }
  return out;
}

Tensor transposed(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
                  IntList padding, IntList output_padding, int64_t groups, IntList dilation,
                  int64_t spatial) {
  const size_t n = size_t(spatial);
  return batched(input, "conv_transpose", spatial, [&](const Tensor& x) {
    return ops::convolution(x, weight, bias, filled(stride, n), filled(padding, n), filled(dilation, n), true,
                            filled(output_padding, n), groups);
  });
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
                   IntList padding, IntList dilation, bool transposed, IntList output_padding,
                   int64_t groups) {
  const size_t spatial = size_t(std::max<int64_t>(weight.dim() - 2, 0));
  const Dims steps = filled(stride, spatial), zeros = filled(padding, spatial);
  const Dims spread = filled(dilation, spatial), extra = filled(output_padding, spatial);
  if (!transposed) return ops::_convolve(input, weight, bias, steps, zeros, spread, groups);
  const std::pair<const char*, IntList> lists[] = {
      {"stride", steps}, {"padding", zeros}, {"dilation", spread}, {"output_padding", extra}};
  for (const auto& [name, list] : lists)
    MT_CHECK(list.size() == spatial, "expected ", name, " to be a single integer value or a list of ",
             spatial, " values to match the convolution dimensions, but got ", name, "=", to_string(list));
  return transposed_convolution(input, weight, bias, steps, zeros, spread, extra, groups);
}

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const DimList& stride,
              const DimList& padding, const DimList& dilation, int64_t groups) {
  return forward(input, weight, bias, stride.dims(), padding.dims(), dilation.dims(), groups, 1);
}
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const DimList& stride,
              std::string_view padding, const DimList& dilation, int64_t groups) {
  return forward(input, weight, bias, stride.dims(), padding, dilation.dims(), groups, 1);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
              IntList dilation, int64_t groups) {
  return forward(input, weight, bias, stride, padding, dilation, groups, 2);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
              std::string_view padding, IntList dilation, int64_t groups) {
  return forward(input, weight, bias, stride, padding, dilation, groups, 2);
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
              IntList dilation, int64_t groups) {
  return forward(input, weight, bias, stride, padding, dilation, groups, 3);
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
              std::string_view padding, IntList dilation, int64_t groups) {
  return forward(input, weight, bias, stride, padding, dilation, groups, 3);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const DimList& stride,
                        const DimList& padding, const DimList& output_padding, int64_t groups,
                        const DimList& dilation) {
  return transposed(input, weight, bias, stride.dims(), padding.dims(), output_padding.dims(), groups,
                    dilation.dims(), 1);
}
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
                        IntList padding, IntList output_padding, int64_t groups, IntList dilation) {
  return transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 2);
}
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
                        IntList padding, IntList output_padding, int64_t groups, IntList dilation) {
  return transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 3);
}

// Time, batch, channels; the weight is [kernel, in, out].
Tensor conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
  MT_CHECK(self.dim() == 3, "Input must have 3 dims: time, batch, in_channel");
  MT_CHECK(weight.dim() == 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.");
  MT_CHECK(bias.dim() == 1, "Bias must be 1-D");
  const Tensor out =
      ops::conv1d(ops::permute(self, Dims{1, 2, 0}), ops::permute(weight, Dims{2, 1, 0}), bias, 1, pad, 1, 1);
  return ops::permute(out, Dims{2, 0, 1});
}

}  // namespace mt::composites
