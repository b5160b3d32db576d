// Gradients of windows.
#pragma once

#include <optional>
#include <span>

#include "autograd/formulas/common.h"

namespace mt::formulas {

Dims inverse_permutation(IntList dims);
Tensor slice_gradient(const Tensor& grad, IntList sizes, int64_t dim, std::optional<int64_t> start,
                      std::optional<int64_t> end, int64_t step);
Tensor as_strided_backward(const Tensor& grad, const autograd::Geometry& self, IntList size, IntList stride,
                           std::optional<int64_t> storage_offset);

// The gradients of pieces, joined; those that nobody used are zeros.
Tensor unbind_backward(std::span<const Tensor> grads, int64_t dim, IntList sizes);
Tensor split_backward(std::span<const Tensor> grads, int64_t split_size, int64_t dim, IntList sizes);
Tensor split_with_sizes_backward(std::span<const Tensor> grads, IntList split_sizes, int64_t dim,
                                 IntList sizes);

// A tangent lies in a storage of its own; what as_strided reads of it lies as in that of the tensor.
Tensor as_strided_tangent(const Tensor& tangent, const autograd::Geometry& self, IntList size, IntList stride,
                          std::optional<int64_t> offset);

}  // namespace mt::formulas
