// Slices as channels of one image, for operators that treat channels apart.
#pragma once

#include "core/tensor.h"

namespace mt::batch {

// (batch, n, channels, …) as (n, batch · channels, …), and back.
Tensor beside(const Tensor& batch);
Tensor apart(const Tensor& tensor, int64_t size);

}  // namespace mt::batch
