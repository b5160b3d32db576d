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
// The gradients of pieces, joined; those that nobody used are zeros.
Tensor unbind_backward(std::span<const Tensor> grads, int64_t dim, IntList sizes);
Tensor split_backward(std::span<const Tensor> grads, int64_t split_size, int64_t dim, IntList sizes);
Tensor split_with_sizes_backward(std::span<const Tensor> grads, IntList split_sizes, int64_t dim,
                                 IntList sizes);
inline Dims last_two(IntList sizes) { return Dims(sizes.last(2)); }

}  // namespace mt::formulas
