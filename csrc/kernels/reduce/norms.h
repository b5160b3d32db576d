// Norms of vectors and what is built on them. Results have in's dimensions with size 1 where reduced (any strides).
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// The p-th root of the sum of p-th powers of magnitudes; p may be 0 (how many are not zero) and infinite.
void vector_norm(const View& in, const View& out, double p);
// log(sum(exp(in))), with the largest element taken out first so that nothing overflows.
void log_sum_exp(const View& in, const View& out);

}  // namespace mt::kernels
