// Gradients of convolutions.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

// A convolution of which only the first `sizes` outputs are wanted: output padding may hide the others.
Tensor convolve_part(const Tensor& input, const Tensor& weight, IntList sizes, IntList stride,
                     IntList padding, IntList dilation, int64_t groups);
Tensor sum_per_channel(const Tensor& grad);
// A number for each channel, against results of so many dimensions.
Tensor per_channel(const Tensor& bias, int64_t rank);

}  // namespace mt::formulas
