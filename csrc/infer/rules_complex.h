// Rules of single operators: complex numbers and Fourier transforms. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

void check_complex_parts(const Tensor& real, const Tensor& imag);
void complex(const Tensor& real, const Tensor& imag, Output& out);

void fft_c2c(const Tensor& self, IntList dim, int64_t normalization, bool forward, Output& out);
void fft_r2c(const Tensor& self, IntList dim, int64_t normalization, bool onesided, Output& out);
void fft_c2r(const Tensor& self, IntList dim, int64_t normalization, int64_t last_dim_size, Output& out);

}  // namespace mt::infer
