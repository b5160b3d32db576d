#include "generated/cpu/sort.h"

#include "backends/cpu/kernel_view.h"
#include "core/views.h"
#include "kernels/sort/histogram.h"
#include "kernels/sort/sort.h"

namespace mt::cpu {
namespace {

// A line-wise kernel's operands: 0-dim tensors get a dimension, results that lost theirs get it back.
struct Lines {
  Tensor in, values, indices;
  int dim;
  Lines(const Tensor& self, int64_t d, const Tensor& v, const Tensor& i)
      : in(at_least_1d(self)), dim(int(wrap_dim(d, in.dim()))) {
    auto shaped = [&](const Tensor& t) { return t.dim() == in.dim() ? t : views::unsqueeze(t, dim); };
    values = shaped(v);
    indices = shaped(i);
  }
};

}  // namespace

void sort(const Tensor& self, int64_t dim, bool descending, const Tensor& values, const Tensor& indices) {
  const Lines l(self, dim, values, indices);
  kernels::sort(view(l.in), l.dim, descending, view(l.values), view(l.indices));
}
void sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending, const Tensor& values,
                 const Tensor& indices) {
  sort(self, dim, descending, values, indices);
}
void topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool, const Tensor& values,
          const Tensor& indices) {
  if (self.dim() == 0 && k == 0) return;
  const Lines l(self, dim, values, indices);
  kernels::topk(view(l.in), l.dim, k, largest, view(l.values), view(l.indices));
}
void kthvalue(const Tensor& self, int64_t k, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  const Lines l(self, dim, values, indices);
  kernels::kth_value(view(l.in), l.dim, k - 1, view(l.values), view(l.indices));
}
void median_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  const Lines l(self, dim, values, indices);
  kernels::median(view(l.in), l.dim, false, view(l.values), view(l.indices));
}
void nanmedian_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  const Lines l(self, dim, values, indices);
  kernels::median(view(l.in), l.dim, true, view(l.values), view(l.indices));
}
void mode(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  const Lines l(self, dim, values, indices);
  kernels::mode(view(l.in), l.dim, view(l.values), view(l.indices));
}

void median(const Tensor& self, const Tensor& out) { kernels::median_of_all(view(self), false, view(out)); }
void nanmedian(const Tensor& self, const Tensor& out) { kernels::median_of_all(view(self), true, view(out)); }

void cummax(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  const Lines l(self, dim, values, indices);
  kernels::running_extremum(true, view(l.in), l.dim, view(l.values), view(l.indices));
}
void cummin(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  const Lines l(self, dim, values, indices);
  kernels::running_extremum(false, view(l.in), l.dim, view(l.values), view(l.indices));
}

void row_order(const Tensor& rows, const Tensor& out) { kernels::row_order(view(rows), view(out)); }

void search_sorted(const Tensor& boundaries, const Tensor& values, const Tensor& sorter, bool right, bool,
                   const Tensor& out) {
  const kernels::View order = sorter.defined() ? view(sorter) : kernels::View{};
  const Tensor result = out.is_contiguous() ? out : new_tensor(out.sizes(), out.dtype(), out.device());
  kernels::search_sorted(view(boundaries), sorter.defined() ? &order : nullptr, view(values), right,
                         view(result));
  if (!result.same(out)) kernels::copy(view(result), view(out));
}

void histogram_counts(const Tensor& self, int64_t, const Scalar& min, const Scalar& max, const Tensor& out) {
  kernels::histogram(view(self), view(out), min.to<double>(), max.to<double>());
}

void value_counts(const Tensor& self, const Tensor& weights, int64_t, const Tensor& out) {
  const kernels::View shares = weights.defined() ? view(weights) : kernels::View{};
  kernels::count_values(view(self), weights.defined() ? &shares : nullptr, view(out));
}

}  // namespace mt::cpu
