// Gradients of lookups.
#pragma once

#include "generated/ops/embedding.h"
#include "generated/ops/sparse.h"

namespace mt::formulas {

// Of the whole table, or of the rows that were looked up alone.
inline Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding,
                                 bool by_frequency, bool sparse) {
  return sparse ? ops::embedding_sparse_backward(grad, indices, rows, padding, by_frequency)
                : ops::embedding_dense_backward(grad, indices, rows, padding, by_frequency);
}

}  // namespace mt::formulas
