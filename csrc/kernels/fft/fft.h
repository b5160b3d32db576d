// Discrete Fourier transforms along one dimension, in float and double.
#pragma once

#include <span>

#include "kernels/common/view.h"

namespace mt::kernels {

// out[k] = scale * sum over j of in[j] exp(∓2 pi i j k / n), minus if `forward`. `in` may be real; it may also be `out`.
void fft(const View& in, const View& out, int dim, bool forward, double scale);
// The same along each of several dimensions.
void fft(const View& in, const View& out, std::span<const int> dims, bool forward, double scale);
// The first n/2 + 1 frequencies of n real numbers, forward; the rest are their mirror image.
void real_fft(const View& in, const View& out, int dim, double scale);
// Back from n/2 + 1 frequencies (backward) to n real numbers. Imaginary parts that symmetry rules out are ignored.
void inverse_real_fft(const View& in, const View& out, int dim, double scale);

}  // namespace mt::kernels
