// Convolution whose kernel's elements read the image at places of their own, between pixels.
#pragma once

#include <array>

#include "kernels/common/view.h"

namespace mt::kernels {

struct DeformOptions {
  std::array<int64_t, 2> stride, padding, dilation;
  int64_t groups, offset_groups;
};

// images [N, C, H, W]; weight [out, C / groups, kH, kW]; offset [N, groups of offsets * kH * kW * 2, H', W'], down before
// across; mask, which may be null, [N, groups of offsets * kH * kW, H', W']; bias [out]; out [N, out, H', W'].
void deform_convolve(const View& images, const View& weight, const View& offset, const View* mask,
                     const View& bias, const View& out, const DeformOptions& options);

struct DeformGradients {
  View images, weight, offset, bias;
  const View* mask;  // null if there is none
};
void deform_convolve_backward(const View& grad, const View& images, const View& weight, const View& offset,
                              const View* mask, const DeformGradients& gradients,
                              const DeformOptions& options);

}  // namespace mt::kernels
