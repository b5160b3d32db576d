// Larger pieces of formulas: indexing, gathering and scattering.
#pragma once

#include <array>

#include "autograd/node.h"
#include "generated/ops/ops.h"

namespace mt::formulas {

using namespace mt::ops;

Tensor index_backward(const Tensor& grad, IntList sizes, TensorList indices);
Tensor index_put_backward(const Tensor& grad, TensorList indices, bool accumulate);
Tensor gather_backward(const Tensor& grad, IntList sizes, int64_t dim, const Tensor& index);
Tensor index_select_backward(const Tensor& grad, IntList sizes, int64_t dim, const Tensor& index);
// What was added along an index, in the shape of the source.
Tensor index_select_like(const Tensor& grad, int64_t dim, const Tensor& index, IntList sizes);
Tensor take_backward(const Tensor& grad, IntList sizes, const Tensor& index);
Tensor put_backward(const Tensor& grad, const Tensor& index, const Tensor& source, bool accumulate);
// Gradients of self and of the source.
std::array<Tensor, 2> scatter_reduce_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                              const Tensor& index, const Tensor& src, std::string_view reduce,
                                              bool include_self, const Tensor& result);
std::array<Tensor, 2> index_reduce_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                            const Tensor& index, const Tensor& source,
                                            std::string_view reduce, bool include_self, const Tensor& result);
// Values picked along a dimension (sort, topk, median): each gradient returns to where its value came from.
Tensor picked_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntList sizes, bool keepdim);
// The median of everything: elements equal to it share its gradient.
Tensor median_backward(const Tensor& grad, const Tensor& self, const Tensor& result);

}  // namespace mt::formulas
