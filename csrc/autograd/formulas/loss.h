// Gradients of losses.
#pragma once

#include <tuple>

#include "autograd/formulas/common.h"

namespace mt::formulas {

template <class... T>
const Tensor& element_of(const std::tuple<T...>& results) {
  return std::get<0>(results);
}

}  // namespace mt::formulas
