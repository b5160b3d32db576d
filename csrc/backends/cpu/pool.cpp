// Tables of windows from the options, then one kernel.
#include "generated/cpu/pool.h"

#include "backends/cpu/kernel_view.h"
#include "infer/spatial.h"
#include "kernels/pool/max.h"
#include "kernels/resample/resample.h"

namespace mt::cpu {
namespace {

using kernels::Taps;

std::vector<Taps> average_taps(IntList in, IntList out, IntList kernel_size, IntList stride,
                               IntList padding_size, bool count_padding, std::optional<int64_t> divisor) {
  const size_t n = in.size();
  const Dims kernel = infer::window_list(kernel_size, n), padding = infer::window_list(padding_size, n);
  const Dims steps = stride.empty() ? kernel : infer::window_list(stride, n);
  std::vector<Taps> taps;
  for (size_t i = 0; i < n; ++i) {
    // A given divisor divides once, whatever the number of dimensions.
    const int64_t divide = !divisor ? 0 : i == 0 ? *divisor : 1;
    taps.push_back(
        kernels::window_taps(in[i], out[i], kernel[i], steps[i], padding[i], count_padding, divide));
  }
  return taps;
}

void average(size_t n, const Tensor& self, IntList kernel, IntList stride, IntList padding,
             bool count_padding, std::optional<int64_t> divisor, const Tensor& out) {
  kernels::resample(view(self), view(out),
                    average_taps(self.sizes().last(n), out.sizes().last(n), kernel, stride, padding,
                                 count_padding, divisor),
                    kernels::ToInteger::truncate);
}

std::vector<Taps> adaptive_taps(IntList in, IntList out) {
  std::vector<Taps> taps;
  for (size_t i = 0; i < in.size(); ++i) taps.push_back(kernels::adaptive_taps(in[i], out[i]));
  return taps;
}

void maximum(size_t n, const Tensor& self, IntList kernel_size, IntList stride, IntList padding_size,
             IntList dilation_size, const Tensor& out, const Tensor& indices) {
  const IntList in = self.sizes().last(n), made = out.sizes().last(n);
  const Dims kernel = infer::window_list(kernel_size, n), padding = infer::window_list(padding_size, n);
  const Dims steps = stride.empty() ? kernel : infer::window_list(stride, n);
  const Dims dilation = infer::window_list(dilation_size, n);
  kernels::WindowSet windows;
  for (size_t i = 0; i < n; ++i)
    windows[3 - n + i] = kernels::fixed_windows(in[i], made[i], kernel[i], steps[i], padding[i], dilation[i]);
  kernels::max_pool(view(self), view(out), view(indices), int(n), windows);
}

}  // namespace

void avg_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool,
                bool count_include_pad, std::optional<int64_t> divisor_override, const Tensor& out) {
  average(2, self, kernel_size, stride, padding, count_include_pad, divisor_override, out);
}
void avg_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool,
                bool count_include_pad, std::optional<int64_t> divisor_override, const Tensor& out) {
  average(3, self, kernel_size, stride, padding, count_include_pad, divisor_override, out);
}
void avg_pool_backward(const Tensor& grad_output, IntList input_size, int64_t spatial, IntList kernel_size,
                       IntList stride, IntList padding, bool, bool count_include_pad,
                       std::optional<int64_t> divisor_override, const Tensor& out) {
  const size_t n = size_t(spatial);
  kernels::resample_transposed(view(grad_output), view(out),
                               average_taps(input_size.last(n), grad_output.sizes().last(n), kernel_size,
                                            stride, padding, count_include_pad, divisor_override));
}

void adaptive_avg_pool(const Tensor& self, IntList output_size, const Tensor& out) {
  kernels::resample(view(self), view(out), adaptive_taps(self.sizes().last(output_size.size()), output_size),
                    kernels::ToInteger::truncate);
}
void adaptive_avg_pool_backward(const Tensor& grad_output, IntList input_size, int64_t spatial,
                                const Tensor& out) {
  const size_t n = size_t(spatial);
  kernels::resample_transposed(view(grad_output), view(out),
                               adaptive_taps(input_size.last(n), grad_output.sizes().last(n)));
}

void max_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                bool, const Tensor& out, const Tensor& indices) {
  maximum(2, self, kernel_size, stride, padding, dilation, out, indices);
}
void max_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                bool, const Tensor& out, const Tensor& indices) {
  maximum(3, self, kernel_size, stride, padding, dilation, out, indices);
}

void adaptive_max_pool(const Tensor& self, IntList output_size, const Tensor& out, const Tensor& indices) {
  const size_t n = output_size.size();
  kernels::WindowSet windows;
  for (size_t i = 0; i < n; ++i)
    windows[3 - n + i] = kernels::adaptive_windows(self.sizes().last(n)[i], output_size[i]);
  kernels::max_pool(view(self), view(out), view(indices), int(n), windows);
}

void fractional_max_pool(const Tensor& self, IntList kernel_size, IntList output_size,
                         const Tensor& random_samples, const Tensor& out, const Tensor& indices) {
  const size_t n = output_size.size();
  kernels::WindowSet windows;
  for (size_t i = 0; i < n; ++i) {
    // The samples of two dimensions come with the width first, those of three in order.
    const int64_t sample = n == 2 ? int64_t(1 - i) : int64_t(i);
    windows[3 - n + i] = kernels::fractional_windows(self.sizes().last(n)[i], output_size[i], kernel_size[i],
                                                     view(random_samples), sample);
  }
  kernels::max_pool(view(self), view(out), view(indices), int(n), windows);
}

void plane_scatter(const Tensor& values, const Tensor& indices, IntList, int64_t spatial, bool accumulate,
                   const Tensor& out) {
  kernels::plane_scatter(view(values), view(indices), view(out), int(spatial), accumulate);
}
void max_pool2d_backward(const Tensor& grad_output, const Tensor&, IntList, IntList, IntList, IntList, bool,
                         const Tensor& indices, const Tensor& out) {
  kernels::plane_scatter(view(grad_output), view(indices), view(out), 2, true);
}
void plane_gather(const Tensor& self, const Tensor& indices, int64_t spatial, const Tensor& out) {
  kernels::plane_gather(view(self), view(indices), view(out), int(spatial));
}

}  // namespace mt::cpu
