#include "generated/cpu/embedding.h"

#include "backends/cpu/kernel_view.h"
#include "core/views.h"
#include "kernels/index/indexed.h"
#include "kernels/sparse/sparse.h"

namespace mt::cpu {
namespace {

using kernels::Lookup;

[[noreturn]] void refuse_embedding(int64_t, const Lookup&) {
  fail(ErrorKind::index, "index out of range in self");
}

}  // namespace

void embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool, const Tensor& out) {
  const Tensor at = as_long(indices);
  Dims sizes(out.sizes()), index_strides(at.strides()), table_strides(sizes.size(), 0);
  index_strides.push_back(0);
  table_strides.back() = weight.strides()[1];
  const Tensor spread_index = views::window(at, sizes, index_strides, at.offset());
  const Tensor table = views::window(weight, sizes, table_strides, weight.offset());
  const Lookup lookup{
      view(spread_index), weight.sizes()[0], weight.strides()[0] * int64_t(weight.itemsize()), false, 0,
      refuse_embedding};
  kernels::gather(view(out), view(table), lookup);
}

void bag_sums(const Tensor& weight, const Tensor& indices, const Tensor& offsets, const Tensor& weights, bool,
              bool, const Tensor& out) {
  const kernels::View scale = weights.defined() ? view(weights) : view(weight);
  kernels::segment_sum(view(weight), view(offsets), view(indices), weights.defined() ? &scale : nullptr,
                       view(out));
}

}  // namespace mt::cpu
