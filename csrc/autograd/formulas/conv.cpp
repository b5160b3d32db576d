#include "autograd/formulas/conv.h"

#include "generated/ops/conv.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"

namespace mt::formulas {

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

Tensor per_channel(const Tensor& bias, int64_t rank) {
  Dims shape(size_t(rank), 1);
  shape[1] = bias.size(0);
  return bias.reshape(shape);
}

}  // namespace mt::formulas
