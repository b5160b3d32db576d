// Panels of a matrix stored as the tiles of a product read them: what one step needs lies together.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace mt::kernels {

// target[i, r] = source[r * lane_stride + i * step] for r < lanes and i < length; rows of target are `width` elements, and
// what those behind the lanes become has no meaning: other numbers of the source, or zero.
template <class T>
void pack_panel(const T* source, int64_t lane_stride, int64_t step, int64_t lanes, int64_t length, T* target,
                int64_t width);

// Panels of so many lanes beside one another in the source, as wide as that and one after the other in target.
template <class T>
void pack_panels(const T* source, int64_t lane_stride, int64_t step, int64_t lanes, int64_t panels,
                 int64_t length, T* target);

// A panel from another dtype, converted on the way.
template <class T>
void pack_converted(DType dtype, const char* source, int64_t lane_stride, int64_t step, int64_t lanes,
                    int64_t length, T* target, int64_t width);

}  // namespace mt::kernels
