// Sums of chosen rows, made of lookups and scattered sums.
#include "generated/ops/substitutes/sparse.h"

#include "generated/ops/binary.h"
#include "generated/ops/creation.h"
#include "generated/ops/cumulative.h"
#include "generated/ops/index.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "ops/substitutes/common.h"

namespace mt::substitutes {
namespace {

Tensor added_up(const Tensor& picked, const Tensor& rows, int64_t count) {
  const Tensor zeros = ops::zeros(Dims{count, picked.sizes()[1]}, {picked.dtype(), picked.device()});
  return ops::index_add(zeros, 0, rows, picked);
}

}  // namespace

Tensor segment_sum(const Tensor& table, const Tensor& offsets, const Tensor& rows, const Tensor& weights) {
  Tensor picked = ops::index_select(table, 0, rows);
  if (weights.defined()) picked = ops::mul(picked, ops::unsqueeze(weights, 1));
  const int64_t count = offsets.numel() - 1;
  const Tensor lengths = ops::sub(ops::narrow(offsets, 0, 1, count), ops::narrow(offsets, 0, 0, count));
  return added_up(picked, ops::repeat_interleave(lengths, std::optional<int64_t>(rows.numel())), count);
}

Tensor scatter_products(const Tensor& table, const Tensor& rows, const Tensor& columns, const Tensor& weights,
                        int64_t count) {
  return added_up(ops::mul(ops::index_select(table, 0, columns), ops::unsqueeze(weights, 1)), rows, count);
}

Tensor row_offsets(const Tensor& rows, int64_t count) {
  const TensorOptions whole{DType::int64, rows.device()};
  const Tensor counts = ops::index_add(ops::zeros(Dims{count + 1}, whole), 0, ops::add(rows, Scalar(1)),
                                       ops::ones(rows.sizes(), whole));
  return ops::cumsum(counts, 0);
}

Tensor sampled_products(const Tensor& left, const Tensor& right, const Tensor& rows, const Tensor& columns) {
  const Tensor products = ops::mul(ops::index_select(left, 0, rows), ops::index_select(right, 0, columns));
  return ops::sum(products, DimList(Dims{1}), false, left.dtype());
}

}  // namespace mt::substitutes
