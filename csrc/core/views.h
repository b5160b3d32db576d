// New windows on a tensor's storage. Pure geometry: no device is touched, no graph is built.
#pragma once

#include "core/tensor.h"

namespace mt::views {

// Without holes or overlap: a permutation of a contiguous tensor.
bool is_dense(const Tensor& t);

Tensor window(const Tensor& self, IntList sizes, IntList strides, int64_t offset);

Tensor alias(const Tensor& self);
// On a storage of its own, whose bytes are the first's until one of them is written. Note [Copy on write]
Tensor lazy_clone(const Tensor& self);
Tensor view(const Tensor& self, IntList size);
// The same bytes as elements of another dtype; the last dimension grows or shrinks with their size.
Tensor view_as_dtype(const Tensor& self, DType dtype);
Tensor permute(const Tensor& self, IntList dims);
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1);
Tensor t(const Tensor& self);
Tensor expand(const Tensor& self, IntList size, bool implicit);
Tensor squeeze(const Tensor& self);
Tensor squeeze(const Tensor& self, int64_t dim);
Tensor squeeze(const Tensor& self, IntList dims);
Tensor unsqueeze(const Tensor& self, int64_t dim);
Tensor select(const Tensor& self, int64_t dim, int64_t index);
Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
             int64_t step);
Tensor as_strided(const Tensor& self, IntList size, IntList stride, std::optional<int64_t> storage_offset);
Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2);
// Complex numbers as pairs of reals in a last dimension, and back.
Tensor view_as_real(const Tensor& self);
Tensor view_as_complex(const Tensor& self);
// Overlapping pieces of a dimension; their elements become a new last dimension.
Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step);

// Pieces of a dimension, one after the other: without it, of one length, or of given ones.
std::vector<Tensor> unbind(const Tensor& self, int64_t dim);
std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim);
std::vector<Tensor> split_with_sizes(const Tensor& self, IntList split_sizes, int64_t dim);

// Replaces one -1 by what the element count asks for.
Dims infer_size(IntList shape, int64_t numel);
// Strides with which `self` can be seen in `shape` without copying, if there are any.
std::optional<Dims> view_strides(const Tensor& self, IntList shape);

}  // namespace mt::views
