// Softmax and log-softmax along one dimension, their backward, and the logarithm of the sum that they divide by.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// Half types are computed in float. in and out have one shape; out may have another floating dtype.
void softmax(const View& in, const View& out, int dim, bool log);
// out has size 1 in `dim`.
void log_sum_exp_along(const View& in, const View& out, int dim);
// grad_in from the gradient of the result and the result itself.
void softmax_backward(const View& grad, const View& output, const View& grad_in, int dim, bool log);

}  // namespace mt::kernels
