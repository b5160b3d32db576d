// Gradients of indexing, gathering and scattering.
#pragma once

#include <array>
#include <string_view>

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor index_backward(const Tensor& grad, IntList sizes, TensorList indices);
Tensor index_put_backward(const Tensor& grad, TensorList indices, bool accumulate);
Tensor gather_backward(const Tensor& grad, IntList sizes, int64_t dim, const Tensor& index, bool sparse);
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

}  // namespace mt::formulas
