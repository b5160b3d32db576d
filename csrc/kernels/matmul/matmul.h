// Matrix products over views of any strides.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// out[m, n] = alpha * a[m, k] @ b[k, n] + beta * out; all of one dtype. With beta == 0, out is not read.
void gemm(const View& a, const View& b, const View& out, const Scalar& alpha, const Scalar& beta);
// The same for every matrix of a batch: a[B, m, k], b[B, k, n], out[B, m, n].
void bmm(const View& a, const View& b, const View& out, const Scalar& alpha, const Scalar& beta);

}  // namespace mt::kernels
