// Regions of an image brought to one size: the largest pixel of each bin, or the mean of its pixels.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// images [N, C, H, W]; boxes [K, 5]; out and argmax (int32: the pixel in its plane, -1 for a bin without) [K, C, bins, bins].
void roi_pool(const View& images, const View& boxes, double scale, const View& out, const View& argmax);
void roi_pool_backward(const View& grad, const View& boxes, const View& argmax, const View& grad_images);

// Each bin has channels of its own: out [K, C / (bins * bins), bins, bins].
void ps_roi_pool(const View& images, const View& boxes, double scale, const View& out);
void ps_roi_pool_backward(const View& grad, const View& boxes, double scale, const View& grad_images);

}  // namespace mt::kernels
