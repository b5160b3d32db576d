// Pooling, interpolation and sampling on the CPU: tables of windows from the options, then one kernel.
#include "backends/cpu/view.h"
#include "generated/cpu/kernels.h"
#include "infer/infer.h"
#include "kernels/pool/max.h"
#include "kernels/resample/grid_sample.h"
#include "kernels/resample/resample.h"

namespace mt::cpu {
namespace {

using kernels::Taps;

IntList last(const Tensor& t, size_t count) { return t.sizes().subspan(t.sizes().size() - count); }
IntList last(IntList sizes, size_t count) { return sizes.subspan(sizes.size() - count); }

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
  kernels::resample(
      view(self), view(out),
      average_taps(last(self, n), last(out, n), kernel, stride, padding, count_padding, divisor),
      kernels::ToInteger::truncate);
}

std::vector<Taps> adaptive_taps(IntList in, IntList out) {
  std::vector<Taps> taps;
  for (size_t i = 0; i < in.size(); ++i) taps.push_back(kernels::adaptive_taps(in[i], out[i]));
  return taps;
}

kernels::Interpolation mode_of(std::string_view mode) {
  using enum kernels::Interpolation;
  if (mode == "nearest") return nearest;
  if (mode == "nearest-exact") return nearest_exact;
  if (mode == "linear") return linear;
  if (mode == "cubic") return cubic;
  if (mode == "linear-aa") return linear_smoothed;
  MT_CHECK_AS(value, mode == "cubic-aa", "_interpolate: unknown mode ", mode);
  return cubic_smoothed;
}

std::vector<Taps> interpolation_taps(IntList in, IntList out, std::string_view mode, bool align_corners,
                                     std::span<const double> scales, DType dtype) {
  std::vector<Taps> taps;
  for (size_t i = 0; i < in.size(); ++i)
    taps.push_back(kernels::interpolation_taps(mode_of(mode), in[i], out[i], align_corners, scales[i],
                                               dtype != DType::float64));
  return taps;
}

void maximum(size_t n, const Tensor& self, IntList kernel_size, IntList stride, IntList padding_size,
             IntList dilation_size, const Tensor& out, const Tensor& indices) {
  const IntList in = last(self, n), made = last(out, n);
  const Dims kernel = infer::window_list(kernel_size, n), padding = infer::window_list(padding_size, n);
  const Dims steps = stride.empty() ? kernel : infer::window_list(stride, n);
  const Dims dilation = infer::window_list(dilation_size, n);
  kernels::WindowSet windows;
  for (size_t i = 0; i < n; ++i)
    windows[3 - n + i] = kernels::fixed_windows(in[i], made[i], kernel[i], steps[i], padding[i], dilation[i]);
  kernels::max_pool(view(self), view(out), view(indices), int(n), windows);
}

kernels::GridOptions grid_options(int64_t mode, int64_t padding, bool align_corners) {
  return {kernels::GridMode(mode), kernels::GridPadding(padding), align_corners};
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
                               average_taps(last(input_size, n), last(grad_output, n), kernel_size, stride,
                                            padding, count_include_pad, divisor_override));
}

void adaptive_avg_pool(const Tensor& self, IntList output_size, const Tensor& out) {
  kernels::resample(view(self), view(out), adaptive_taps(last(self, output_size.size()), output_size),
                    kernels::ToInteger::truncate);
}
void adaptive_avg_pool_backward(const Tensor& grad_output, IntList input_size, int64_t spatial,
                                const Tensor& out) {
  const size_t n = size_t(spatial);
  kernels::resample_transposed(view(grad_output), view(out),
                               adaptive_taps(last(input_size, n), last(grad_output, n)));
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
    windows[3 - n + i] = kernels::adaptive_windows(last(self, n)[i], output_size[i]);
  kernels::max_pool(view(self), view(out), view(indices), int(n), windows);
}

void fractional_max_pool(const Tensor& self, IntList kernel_size, IntList output_size,
                         const Tensor& random_samples, const Tensor& out, const Tensor& indices) {
  const size_t n = output_size.size();
  kernels::WindowSet windows;
  for (size_t i = 0; i < n; ++i) {
    // The samples of two dimensions come with the width first, those of three in order.
    const int64_t sample = n == 2 ? int64_t(1 - i) : int64_t(i);
    windows[3 - n + i] = kernels::fractional_windows(last(self, n)[i], output_size[i], kernel_size[i],
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

void interpolate(const Tensor& self, IntList output_size, std::string_view mode, bool align_corners,
                 std::span<const double> scales, const Tensor& out) {
  kernels::resample(view(self), view(out),
                    interpolation_taps(last(self, output_size.size()), output_size, mode, align_corners,
                                       scales, self.dtype()),
                    kernels::ToInteger::round);
}
void interpolate_backward(const Tensor& grad_output, IntList input_size, std::string_view mode,
                          bool align_corners, std::span<const double> scales, const Tensor& out) {
  const size_t n = scales.size();
  kernels::resample_transposed(view(grad_output), view(out),
                               interpolation_taps(last(input_size, n), last(grad_output, n), mode,
                                                  align_corners, scales, grad_output.dtype()));
}

void grid_sampler(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners,
                  const Tensor& out) {
  kernels::grid_sample(view(input), view(grid), view(out), grid_options(mode, padding, align_corners));
}
void grid_sampler_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid, int64_t mode,
                           int64_t padding, bool align_corners, const Tensor& grad_input,
                           const Tensor& grad_grid) {
  kernels::grid_sample_backward(view(grad_output), view(input), view(grid), view(grad_input), view(grad_grid),
                                grid_options(mode, padding, align_corners));
}

}  // namespace mt::cpu
