// An optional tensor as kernels take it.
#pragma once

#include "backends/cpu/kernel_view.h"

namespace mt::cpu {

// Null for a tensor that is undefined or not wanted. Keeps the tensor, which may be a copy made for the call.
struct OptionalView {
  Tensor tensor;
  kernels::View seen{};
  explicit OptionalView(const Tensor& t, bool wanted = true) {
    if (!wanted || !t.defined()) return;
    tensor = t;
    seen = view(tensor);
  }
  const kernels::View* get() const { return tensor.defined() ? &seen : nullptr; }
};

}  // namespace mt::cpu
