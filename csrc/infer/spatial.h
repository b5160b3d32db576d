// Lines, images and volumes: their last dimensions, windows that slide over them.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

constexpr int64_t kSpatialLimit = int64_t(1) << 31;  // keeps products of window options within 64 bits

// `sizes` with the last dimensions replaced.
Dims with_spatial(IntList sizes, IntList spatial);
// One number stands for every dimension.
Dims window_list(IntList list, size_t spatial);

struct SlidingWindow {
  int64_t kernel[2], dilation[2], padding[2], stride[2], image[2], places[2];
};
SlidingWindow sliding_window(IntList image, IntList kernel_size, IntList dilation, IntList padding,
                             IntList stride);

}  // namespace mt::infer
