// Convolution of up to three dimensions and its two transposes. All tensors are [N, channels, D, H, W] and
// weights [out, in / groups, kD, kH, kW]; `wide` is the side that a convolution reads, `narrow` the one it makes.
#pragma once

#include <array>

#include "kernels/common/view.h"

namespace mt::kernels {

struct ConvOptions {
  std::array<int64_t, 3> stride, padding, dilation;
  int64_t groups;
};

// narrow = wide convolved with weight (+ bias, which may be null).
void convolve(const View& wide, const View& weight, const View* bias, const View& narrow,
              const ConvOptions& options);
// The transpose in the input: the gradient of `wide` from that of `narrow`, or a transposed convolution.
void convolve_transposed(const View& narrow, const View& weight, const View* bias, const View& wide,
                         const ConvOptions& options);
// The transpose in the weight: its gradient.
void convolve_weight(const View& wide, const View& narrow, const View& weight, const ConvOptions& options);

}  // namespace mt::kernels
