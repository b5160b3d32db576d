// What formulas of several areas are written with: arithmetic on tensors, conjugates, sizes.
//
// Note [Complex gradients]
// The gradient of a real L with respect to z = x + iy is dL/dx + i dL/dy, PyTorch's convention, so a holomorphic
// function passes on grad * conj(f'(z)). Formulas say conjugate() where that matters. A real input of a complex
// operator gets the real part, which the engine takes (fit, in engine.cpp).
#pragma once

#include <complex>

#include "autograd/node.h"
#include "generated/ops/complex.h"

namespace mt::formulas {

using namespace mt::ops;

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, const Scalar& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator-(const Scalar& a, const Tensor& b);
Tensor operator-(const Tensor& a);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Scalar& b);  // by 1: the tensor itself
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Scalar& b);
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Scalar& b);
Tensor operator>=(const Tensor& a, const Scalar& b);
Tensor operator>(const Tensor& a, const Scalar& b);

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

// The sizes behind batch and channels.
Dims spatial_sizes(IntList sizes);

}  // namespace mt::formulas
