// Reductions. The template takes a reduction functor of functors.h; its definition is in reduce_impl.h.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// out has in's dimensions with size 1 where reduced (any strides) and may have another dtype. Integers (and
// floating point into an integer result: after conversion) add up in int64, all floating types in double.
template <class Op> void reduce(const View& in, const View& out);

// Index of the largest (smallest) element along `dim`, or of all elements in row-major order for dim == -1.
// The first of equals wins, NaN beats everything. out_index is int64, shaped like `in` with `dim` of size 1
// or absent.
void arg_reduce(bool max, const View& in, const View& out_index, int dim);
void max_min_dim(bool max, const View& in, int dim, const View& out_value, const View& out_index);

}  // namespace mt::kernels
