// Sums into a view, also one whose elements lie on top of each other.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// dst += src, src broadcast to dst's shape; both of one dtype. Elements of dst may share memory (strides of 0,
// overlapping windows) if `shared` says so; the sum then runs in one thread.
void add_into(const View& src, const View& dst, bool shared);

}  // namespace mt::kernels
