// Products of a matrix and a vector, which are a matter of reading the matrix once.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// out = alpha * a @ x + beta * out, with a [rows, length], x [length], out [rows], all of one floating dtype and of any
// strides; computed in float, or double. Nothing of out is read if beta is 0.
void matrix_vector(const View& a, const View& x, const View& out, double alpha, double beta);

// The same for a batch whose products are numbers: out[i] = alpha * (a[i] @ b[i]) + beta * out[i] for rows a[i, 1, k] and
// columns b[i, k, 1].
void row_products(const View& a, const View& b, const View& out, double alpha, double beta);

}  // namespace mt::kernels
