// Tensors that keep only some of their elements.
//
// Note [Sparse tensors]
// A sparse tensor has a shape, a dtype and a device like any other, and no memory of its own: its elements are other
// tensors (SparseParts). Operators do not know of it; one that is given such a tensor is handed over, below history
// (Note [Interception] in core/intercept.h), to what can do it with the parts.
#pragma once

#include "core/tensor.h"

namespace mt {

enum class Layout : uint8_t { strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged };

struct SparseParts {
  Layout layout = Layout::sparse_coo;
  Tensor indices;        // coo: (sparse dimensions, elements); compressed: where each row (column) begins
  Tensor plain_indices;  // compressed: the columns (rows) of the elements
  Tensor values;
  bool coalesced = false;  // coo: no index twice, in order
};

// Null if the tensor is strided.
inline SparseParts* sparse_parts(const Tensor& tensor) {
  const GradState* state = tensor.impl()->grad_state;
  return state ? state->sparse.get() : nullptr;
}

}  // namespace mt
