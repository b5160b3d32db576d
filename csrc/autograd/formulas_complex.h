// Larger pieces of formulas: complex numbers and Fourier transforms.
//
// Note [Complex gradients]
// The gradient of a real L with respect to z = x + iy is dL/dx + i dL/dy, PyTorch's convention, so a holomorphic
// function passes on grad * conj(f'(z)). Formulas say conjugate() where that matters. A real input of a complex
// operator gets the real part, which the engine takes (fit, in engine.cpp).
#pragma once

#include <array>

#include "autograd/node.h"
#include "generated/ops/ops.h"

namespace mt::formulas {

using namespace mt::ops;

// Of a real tensor: itself, at no cost. `made` keeps the conjugate until the end of the caller's expression, so
// the result must be used there and not be kept by reference.
inline const Tensor& conjugate(const Tensor& x, Tensor&& made = Tensor()) {
  if (!is_complex(x.dtype())) [[likely]]
    return x;
  made = ops::conj_physical(x);
  return made;
}
inline Scalar conjugate(const Scalar& x) {
  return x.is_complex() ? Scalar(std::conj(x.to<complex128>())) : x;
}

Tensor direction(const Tensor& self);  // x / |x|
Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor angle_backward(const Tensor& grad, const Tensor& self);
Tensor real_part(const Tensor& grad);
Tensor imaginary_part(const Tensor& grad);

Tensor fft_r2c_backward(const Tensor& grad, IntList sizes, IntList dim, int64_t normalization, bool onesided);
Tensor fft_c2r_backward(const Tensor& grad, IntList dim, int64_t normalization);

}  // namespace mt::formulas
