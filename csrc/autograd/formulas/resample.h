// Tangents of sampling.
#pragma once

#include "autograd/formulas/common.h"

namespace mt::formulas {

// How samples of `input` move with the grid that says where they are taken.
Tensor grid_sampler_tangent(const Tensor& grid_tangent, const Tensor& input, const Tensor& grid,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners);

}  // namespace mt::formulas
