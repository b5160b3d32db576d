// Products whose factors are not zero have short formulas.
#pragma once

#include "core/dispatch.h"
#include "core/intercept.h"
#include "generated/ops/reduce.h"

namespace mt::formulas {

// Whether no element is true, asked only where the answer is at hand: other devices would be waited for, and tensors that
// stand for others have none.
inline bool known_to_be_none(const Tensor& zero) {
  return zero.device().is_cpu() && !taken_over(special(zero)) &&
         !item(ops::any(zero, DimList(), false)).to<bool>();
}

}  // namespace mt::formulas
