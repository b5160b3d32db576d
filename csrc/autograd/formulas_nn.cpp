#include "autograd/formulas.h"

namespace mt::formulas {

Dims spatial_sizes(IntList sizes) { return Dims(sizes.subspan(2)); }

Tensor convolve_part(const Tensor& input, const Tensor& weight, IntList sizes, IntList stride,
                     IntList padding, IntList dilation, int64_t groups) {
  Tensor out = _convolve(input, weight, Tensor(), stride, padding, dilation, groups);
  for (size_t d = 2; d < sizes.size(); ++d) {
    if (out.sizes()[d] != sizes[d]) out = slice(out, int64_t(d), 0, sizes[d], 1);
  }
  return out;
}

Tensor sum_per_channel(const Tensor& grad) {
  Dims others{0};
  for (int64_t d = 2; d < grad.dim(); ++d) others.push_back(d);
  return sum(grad, others, false);
}

Tensor avg_pool_of(const Tensor& grad, int64_t spatial, IntList kernel_size, IntList stride, IntList padding,
                   bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  return (spatial == 2 ? avg_pool2d : avg_pool3d)(grad, kernel_size, stride, padding, ceil_mode,
                                                  count_include_pad, divisor_override);
}

Tensor adaptive_avg_pool_of(const Tensor& grad, IntList sizes, int64_t spatial) {
  const IntList made = sizes.subspan(sizes.size() - size_t(spatial));
  return spatial == 2 ? _adaptive_avg_pool2d(grad, made) : _adaptive_avg_pool3d(grad, made);
}

}  // namespace mt::formulas
