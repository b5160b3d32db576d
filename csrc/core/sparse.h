// Tensors that keep only some of their elements.
//
// Note [Sparse tensors]
// A sparse tensor has a shape, a dtype and a device like any other, and no memory of its own: its elements are other
// tensors (SparseParts). Operators do not know of it; one that is given such a tensor is handed over, below history
// (Note [Interception] in core/intercept.h), to what can do it with the parts: the table of src/mindtorch_v2/_sparse,
// which calls operators on dense tensors, and so serves every device. Operators that only sparse tensors have, or that
// make them of dense ones, are rows of family `sparse`: they are always handed over (core/sparse_call.h).
#pragma once

#include <string_view>

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

const char* layout_name(Layout layout);  // "sparse_coo"
Layout layout_named(std::string_view name);
Layout layout_of(const Tensor& tensor);
Dims block_of(const Tensor& tensor);  // the sizes of its blocks; empty where it has none

}  // namespace mt
