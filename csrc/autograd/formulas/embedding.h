// Gradients of lookups.
#pragma once

#include "generated/ops/binary.h"
#include "generated/ops/embedding.h"
#include "generated/ops/index.h"
#include "generated/ops/reduce.h"
#include "generated/ops/sparse.h"
#include "generated/ops/view.h"

namespace mt::formulas {

// Of the whole table, or of the rows that were looked up alone.
inline Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding,
                                 bool by_frequency, bool sparse) {
  return sparse ? ops::embedding_sparse_backward(grad, indices, rows, padding, by_frequency)
                : ops::embedding_dense_backward(grad, indices, rows, padding, by_frequency);
}

// The gradient of each row that _bag_sums adds up: that of its bag.
inline Tensor bag_rows_backward(const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                                const Tensor& weights) {
  const int64_t bags = offsets.numel() - 1;
  const Tensor lengths = ops::sub(ops::narrow(offsets, 0, 1, bags), ops::narrow(offsets, 0, 0, bags));
  const std::optional<int64_t> count = indices.numel();
  const Tensor rows = ops::index_select(grad, 0, ops::repeat_interleave(lengths, count));
  return weights.defined() ? ops::mul(rows, ops::unsqueeze(weights, 1)) : rows;
}
inline Tensor bag_weights_backward(const Tensor& grad, const Tensor& table, const Tensor& indices,
                                   const Tensor& offsets) {
  const Tensor products =
      ops::mul(ops::index_select(table, 0, indices), bag_rows_backward(grad, indices, offsets, Tensor()));
  return ops::sum(products, DimList(Dims{1}), false, table.dtype());
}

}  // namespace mt::formulas
