// What fresh memory holds for programs that want determinism.
#pragma once

#include "core/tensor.h"

namespace mt {

// NaN, the largest integer, or true.
void fill_new_memory(const Tensor& memory);

}  // namespace mt
