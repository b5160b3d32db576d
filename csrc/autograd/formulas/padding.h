// Gradients of padding.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

inline Dims negated(IntList pad) {
  Dims out(pad);
  for (int64_t& p : out) p = -p;
  return out;
}

}  // namespace mt::formulas
