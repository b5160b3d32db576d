// Larger pieces of formulas: convolution, pooling, normalisation and the rest of neural networks.
#pragma once

#include <array>

#include "autograd/node.h"
#include "generated/ops/ops.h"

namespace mt::formulas {

using namespace mt::ops;

// The sizes behind batch and channels.
Dims spatial_sizes(IntList sizes);
// A convolution of which only the first `sizes` outputs are wanted: output padding may hide the others.
Tensor convolve_part(const Tensor& input, const Tensor& weight, IntList sizes, IntList stride,
                     IntList padding, IntList dilation, int64_t groups);
Tensor sum_per_channel(const Tensor& grad);
Tensor avg_pool_of(const Tensor& grad, int64_t spatial, IntList kernel_size, IntList stride, IntList padding,
                   bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override);
Tensor adaptive_avg_pool_of(const Tensor& grad, IntList sizes, int64_t spatial);

}  // namespace mt::formulas
