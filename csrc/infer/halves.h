// A tensor in two along a dimension: the values of gated units, and what gates them.
#pragma once

#include "core/views.h"

namespace mt::infer {

struct Halves {
  Tensor values, gates;

  Halves(const Tensor& whole, int64_t dim)
      : values(views::slice(whole, dim, 0, whole.size(dim) / 2, 1)),
        gates(views::slice(whole, dim, whole.size(dim) / 2, std::nullopt, 1)) {}
};

}  // namespace mt::infer
