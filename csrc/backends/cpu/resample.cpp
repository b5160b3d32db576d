#include "generated/cpu/resample.h"

#include <algorithm>

#include "backends/cpu/kernel_view.h"
#include "kernels/resample/grid_sample.h"
#include "kernels/resample/resample.h"

namespace mt::cpu {
namespace {

using kernels::Taps;

std::vector<Taps> interpolation_taps(IntList in, IntList out, std::string_view mode, bool align_corners,
                                     std::span<const double> scales, DType dtype) {
  std::vector<Taps> taps;
  for (size_t i = 0; i < in.size(); ++i)
    taps.push_back(kernels::interpolation_taps(kernels::interpolation_of(mode), in[i], out[i], align_corners,
                                               scales[i], dtype != DType::float64));
  return taps;
}

kernels::GridOptions grid_options(int64_t mode, int64_t padding, bool align_corners) {
  return {kernels::GridMode(mode), kernels::GridPadding(padding), align_corners};
}

}  // namespace

void interpolate(const Tensor& self, IntList output_size, std::string_view mode, bool align_corners,
                 std::span<const double> scales, const Tensor& out) {
  const bool pictures =
      self.dtype() == DType::uint8 && output_size.size() == 2 && !mode.starts_with("nearest");
  std::vector<Taps> taps =
      interpolation_taps(self.sizes().last(output_size.size()), output_size, mode, align_corners, scales,
                         pictures ? DType::float64 : self.dtype());
  if (pictures) std::ranges::for_each(taps, &Taps::shorten);
  kernels::resample(view(self), view(out), taps,
                    pictures ? kernels::ToInteger::round_each : kernels::ToInteger::round);
}
void interpolate_backward(const Tensor& grad_output, IntList input_size, std::string_view mode,
                          bool align_corners, std::span<const double> scales, const Tensor& out) {
  const size_t n = scales.size();
  kernels::resample_transposed(view(grad_output), view(out),
                               interpolation_taps(input_size.last(n), grad_output.sizes().last(n), mode,
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
