// Small changes of how an operand is seen.
#pragma once

#include "ops/common/plan.h"

namespace softnpu::ops {

// A scalar as a vector of one element, so that dim 0 exists.
inline Operand at_least_1d(const Operand& operand) {
  Operand result = operand;
  if (operand.ndim == 0) result.ndim = 1, result.sizes[0] = 1, result.strides[0] = 1;
  return result;
}

}  // namespace softnpu::ops
