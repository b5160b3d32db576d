#include "autograd/formulas/fft.h"

#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/fft.h"
#include "generated/ops/shape.h"
#include "generated/ops/view.h"

namespace mt::formulas {

Tensor fft_r2c_backward(const Tensor& grad, IntList sizes, IntList dim, int64_t normalization,
                        bool onesided) {
  Tensor whole = grad;
  const int64_t last = wrap_dim(dim.back(), grad.dim());
  const int64_t missing = sizes[size_t(last)] - grad.size(last);
  if (onesided && missing > 0) {
    Dims rest(grad.sizes());
    rest[size_t(last)] = missing;
    const Tensor both[] = {grad, ops::zeros(rest, {grad.dtype(), grad.device()})};
    whole = ops::cat(both, last);
  }
  return ops::real(ops::_fft_c2c(whole, dim, normalization, false));
}

Tensor fft_c2r_backward(const Tensor& grad, IntList dim, int64_t normalization) {
  const Tensor half = ops::_fft_r2c(grad, dim, normalization, true);
  // Every frequency but the first (and, of an even length, the last) also stands for its mirror image.
  const int64_t last = wrap_dim(dim.back(), grad.dim());
  const int64_t mirrored = grad.size(last) - half.size(last);
  if (mirrored <= 0) return half;
  Dims shape(size_t(grad.dim()), 1);
  shape[size_t(last)] = half.size(last);
  Tensor weight = ops::ones(shape, {grad.dtype(), grad.device()});
  ops::fill_(ops::slice(weight, last, 1, 1 + mirrored, 1), Scalar(2));
  return half * weight;
}

}  // namespace mt::formulas
