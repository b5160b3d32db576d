// Matrices with one side of a diagonal kept and the other zeroed.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// The last two dimensions are the matrix. Elements with column - row <= diagonal (lower) or >= diagonal (upper) are
// kept. `out` may be `in`.
void triangle(const View& in, const View& out, int64_t diagonal, bool lower);

}  // namespace mt::kernels
