#include "autograd/formulas.h"

namespace mt::formulas {

Tensor direction(const Tensor& self) { return is_complex(self.dtype()) ? ops::sgn(self) : ops::sign(self); }

Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (!is_complex(self.dtype())) return zeros_like(grad);
  // Only a turn changes the direction, so the part of grad along it is taken out.
  const Tensor along = result * ops::real(grad * conjugate(result));
  const Tensor size = ops::abs(self);
  return where(ops::eq(size, Scalar(0)), Scalar(0), (grad - along) / size);
}

Tensor angle_backward(const Tensor& grad, const Tensor& self) {
  if (!is_complex(self.dtype())) return zeros_like(grad);
  const Tensor size = ops::abs(self);
  const Tensor slope = self * Scalar(complex128(0, 1)) / (size * size);
  return where(ops::eq(size, Scalar(0)), Scalar(0), grad * slope);
}

Tensor real_part(const Tensor& grad) { return ops::real(grad); }
Tensor imaginary_part(const Tensor& grad) { return ops::imag(grad); }

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
