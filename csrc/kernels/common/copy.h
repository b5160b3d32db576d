// Copies and fills over views of any dtype and strides.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// dst = src converted to dst's dtype and broadcast to its shape. The two must not overlap partially.
void copy(const View& src, const View& dst);
void fill(const View& dst, const Scalar& value);
// dst[i] = start + i * step over the elements in row-major order (dst has one dimension, or is dense).
void arange(const View& dst, const Scalar& start, const Scalar& step);

}  // namespace mt::kernels
