// Whether what a formula computes will be differentiated itself.
#pragma once

#include "autograd/node.h"
#include "core/intercept.h"

namespace mt::formulas {

// Where it is not, one kernel may do what is otherwise made of operators. History is kept in grad mode, and tangents
// flow wherever there are any.
template <class... T>
bool differentiated_again(const T&... tensors) {
  return autograd::grad_mode() || (is_dual(tensors) || ...);
}

}  // namespace mt::formulas
