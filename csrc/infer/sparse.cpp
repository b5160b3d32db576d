#include "generated/infer/sparse.h"

#include <limits>

#include "infer/infer.h"

namespace mt::infer {
namespace {

void check_table(const Tensor& table, const char* name) {
  MT_CHECK(table.dim() == 2, name, ": wanted a matrix, got a tensor of ", table.dim(), " dimensions");
}

void check_indices(const Tensor& indices, const char* name) {
  MT_CHECK(indices.dim() == 1 && (indices.dtype() == DType::int64 || indices.dtype() == DType::int32), name,
           ": wanted indices in one dimension, of int32 or int64, got ", to_string(indices.sizes()), " of ",
           info(indices.dtype()).name);
}

void check_same_length(const Tensor& a, const Tensor& b, const char* name) {
  MT_CHECK(a.numel() == b.numel(), name, ": wanted lists of one length, got ", a.numel(), " and ", b.numel());
}

void check_weights(const Tensor& weights, const Tensor& table, const char* name) {
  MT_CHECK(weights.dim() == 1 && weights.dtype() == table.dtype(), name,
           ": wanted weights in one dimension, of the dtype of the table");
}

}  // namespace

void segment_sum(const Tensor& table, const Tensor& offsets, const Tensor& rows, const Tensor& weights,
                 Output& out) {
  constexpr const char* name = "_segment_sum";
  check_table(table, name);
  check_indices(offsets, name);
  check_indices(rows, name);
  MT_CHECK(offsets.numel() > 0, name, ": wanted an offset more than there are segments, got none");
  check_same_device({&table, &offsets, &rows});
  if (weights.defined()) check_weights(weights, table, name), check_same_length(weights, rows, name);
  out.prepare(Dims{offsets.numel() - 1, table.sizes()[1]}, table.dtype(), table.device());
}

void scatter_products(const Tensor& table, const Tensor& rows, const Tensor& columns, const Tensor& weights,
                      int64_t count, Output& out) {
  constexpr const char* name = "_scatter_products";
  check_table(table, name);
  check_indices(rows, name);
  check_indices(columns, name);
  check_weights(weights, table, name);
  check_same_length(rows, columns, name);
  check_same_length(rows, weights, name);
  check_same_device({&table, &rows, &columns, &weights});
  out.prepare(Dims{count, table.sizes()[1]}, table.dtype(), table.device());
}

void row_offsets(const Tensor& rows, int64_t count, Output& out) {
  check_indices(rows, "_row_offsets");
  MT_CHECK(count >= 0 && count < std::numeric_limits<int64_t>::max(), "_row_offsets: there are no ", count,
           " rows");
  out.prepare(Dims{count + 1}, DType::int64, rows.device());
}

void sampled_products(const Tensor& left, const Tensor& right, const Tensor& rows, const Tensor& columns,
                      Output& out) {
  constexpr const char* name = "_sampled_products";
  check_table(left, name);
  check_table(right, name);
  check_indices(rows, name);
  check_indices(columns, name);
  check_same_length(rows, columns, name);
  check_same_device({&left, &right, &rows, &columns});
  MT_CHECK(left.sizes()[1] == right.sizes()[1] && left.dtype() == right.dtype(), name,
           ": wanted matrices with rows of one length and one dtype");
  out.prepare(Dims{rows.numel()}, left.dtype(), left.device());
}

}  // namespace mt::infer
