// Larger pieces of formulas: shapes and windows.
#pragma once

#include <array>

#include "autograd/node.h"
#include "generated/ops/ops.h"

namespace mt::formulas {

using namespace mt::ops;

inline Dims negated(IntList pad) {
  Dims out(pad);
  for (int64_t& p : out) p = -p;
  return out;
}
inline Dims last_two(IntList sizes) { return Dims(sizes.last(2)); }

}  // namespace mt::formulas
