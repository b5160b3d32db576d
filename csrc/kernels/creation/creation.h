// Values that follow from their position.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// Evenly spaced values from start to end, both included; out has one dimension.
void linspace(const View& out, const Scalar& start, const Scalar& end);
// Rows (out[0]) and columns (out[1]) of the elements of a row x col matrix on one side of a diagonal, which
// belongs to it, in row-major order. out is 2 x their number, int64 or int32.
void triangle_indices(const View& out, int64_t row, int64_t col, int64_t offset, bool upper);

}  // namespace mt::kernels
