#include "autograd/formulas/pool.h"

#include "generated/ops/pool.h"

namespace mt::formulas {

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
