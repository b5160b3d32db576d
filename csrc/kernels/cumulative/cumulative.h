// Running sums, products and log-sum-exps along one dimension.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

enum class Running { sum, product, log_sum_exp };

// in and out have one shape; elements are converted to out's kind of number first and taken together in int64,
// double or complex double. `reverse` runs from the end to the beginning. out may be in.
void cumulative(Running operation, const View& in, const View& out, int dim, bool reverse);

}  // namespace mt::kernels
