#include "generated/cpu/sparse.h"

#include "backends/cpu/kernel_view.h"
#include "kernels/sparse/sparse.h"

namespace mt::cpu {

void segment_sum(const Tensor& table, const Tensor& offsets, const Tensor& rows, const Tensor& weights,
                 const Tensor& out) {
  const kernels::View scale = weights.defined() ? view(weights) : kernels::View();
  kernels::segment_sum(view(table), view(offsets), view(rows), weights.defined() ? &scale : nullptr,
                       view(out));
}

void scatter_products(const Tensor& table, const Tensor& rows, const Tensor& columns, const Tensor& weights,
                      int64_t, const Tensor& out) {
  kernels::scatter_products(view(table), view(rows), view(columns), view(weights), view(out));
}

void row_offsets(const Tensor& rows, int64_t, const Tensor& out) {
  kernels::row_offsets(view(rows), view(out));
}

void sampled_products(const Tensor& left, const Tensor& right, const Tensor& rows, const Tensor& columns,
                      const Tensor& out) {
  kernels::sampled_products(view(left), view(right), view(rows), view(columns), view(out));
}

}  // namespace mt::cpu
