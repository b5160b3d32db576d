// Gradients of Fourier transforms.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor fft_r2c_backward(const Tensor& grad, IntList sizes, IntList dim, int64_t normalization, bool onesided);
Tensor fft_c2r_backward(const Tensor& grad, IntList dim, int64_t normalization);

}  // namespace mt::formulas
