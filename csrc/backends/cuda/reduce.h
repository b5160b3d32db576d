// Reductions over any dimensions: a functor of csrc/kernels/reduce as one launch, or two where few outputs have many terms.
#pragma once

#include "backends/cuda/elementwise.h"

namespace mt::cuda {

// `dim`: the dimensions of self that fold away; out has the others, or all with size 1 there. `number` is for functors
// that finish with one.
void run_reduce(const Functor& functor, bool empty_allowed, Variants& variants, const char* name,
                const Tensor& self, const DimList& dim, const Tensor& out, double number = 0);

}  // namespace mt::cuda
