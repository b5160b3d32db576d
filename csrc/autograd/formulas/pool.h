// Gradients of pooling.
#pragma once

#include <optional>

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor avg_pool_of(const Tensor& grad, int64_t spatial, IntList kernel_size, IntList stride, IntList padding,
                   bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override);
Tensor adaptive_avg_pool_of(const Tensor& grad, IntList sizes, int64_t spatial);

}  // namespace mt::formulas
