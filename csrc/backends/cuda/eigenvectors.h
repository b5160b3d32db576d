// Eigenvectors of real matrices, as cuSOLVER gives them, made complex.
#pragma once

#include "core/tensor.h"

namespace mt::cuda {

// `packed` has real columns (device/eigenvectors.h), `out` is complex; column after column and dense, as the values.
void unpack_eigenvectors(const Tensor& values, const Tensor& packed, const Tensor& out);

}  // namespace mt::cuda
