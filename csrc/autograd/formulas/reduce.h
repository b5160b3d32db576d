// Gradients of reductions.
#pragma once

#include "autograd/formulas/common.h"
#include "autograd/formulas/sort.h"

namespace mt::formulas {

// Undoes a reduction's shape: reduced dims come back with their old size.
// With the reduced dimensions as such of size 1: what is computed before they are expanded is little.
Tensor with_kept_dims(const Tensor& grad, IntList sizes, const DimList& dim, bool keepdim);
Tensor unreduce(const Tensor& grad, IntList sizes, const DimList& dim, bool keepdim);
Scalar reduced_count(IntList sizes, const DimList& dim);
Tensor reduce_extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                const DimList& dim, bool keepdim);
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const DimList& dim,
                     bool keepdim);

Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const DimList& dim,
                          bool keepdim);
Tensor vector_norm_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const Scalar& ord,
                            const DimList& dim, bool keepdim);

}  // namespace mt::formulas
