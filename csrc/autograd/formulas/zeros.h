// Zeros: as what others are added to, and as what is not among the factors of a product.
#pragma once

#include "core/dispatch.h"
#include "core/intercept.h"
#include "generated/ops/creation.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"

namespace mt::formulas {

// What an operator that copies its operand first adds to: one zero for all elements, which is read once instead of written
// and read as often as there are elements.
inline Tensor nothing_of(const Tensor& like, IntList sizes) {
  return ops::expand(ops::zeros({}, {like.dtype(), like.device()}), sizes, false);
}

// Whether no element is true, asked only where the answer is at hand: other devices would be waited for, and tensors that
// stand for others have none.
inline bool known_to_be_none(const Tensor& zero) {
  return zero.device().is_cpu() && !taken_over(special(zero)) &&
         !item(ops::any(zero, DimList(), false)).to<bool>();
}

}  // namespace mt::formulas
