// Regions of an image brought to one size by averaging interpolated samples.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

struct RoiOptions {
  double scale;           // from the boxes' coordinates to the image's
  int64_t samples;        // per bin and dimension; not positive: as many as pixels
  bool aligned;           // pixels are half a unit wide around their coordinate
  bool maximum = false;   // the largest of the samples instead of their mean
  bool own_bins = false;  // each bin has channels of its own: position-sensitive regions
};

// images [N, C, H, W]; boxes [K, 5]: the image, then x1, y1, x2, y2. out [K, C, bins, bins], or with bins of their own
// [K, C / (bins * bins), bins, bins].
void roi_align(const View& images, const View& boxes, const RoiOptions& options, const View& out);
// Of the mean only.
void roi_align_backward(const View& grad, const View& boxes, const RoiOptions& options,
                        const View& grad_images);

}  // namespace mt::kernels
