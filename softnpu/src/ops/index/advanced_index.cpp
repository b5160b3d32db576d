#include "ops/index/advanced_index.h"

#include <limits>

namespace softnpu::ops {

namespace k = mt::kernels;

IndexingShape::IndexingShape(const View& self, const std::vector<View>& indices) {
  int before = -1, last = -1, given = 0;
  bool adjacent = true;
  for (int d = 0; d < int(indices.size()); ++d) {
    const View& index = indices[size_t(d)];
    if (index.ndim < 0) continue;
    if (before < 0) before = d;
    adjacent = adjacent && (last < 0 || last == d - 1);
    last = d;
    ++given;
    const int common = std::max(index_ndim, index.ndim);
    MT_CHECK(common <= kMaxDims, "an index has ", common, " dimensions, wanted at most ", kMaxDims);
    for (int i = common - 1, have = index_ndim - 1, next = index.ndim - 1; i >= 0; --i, --have, --next) {
      const int64_t a = have >= 0 ? index_sizes[have] : 1, b = next >= 0 ? index.sizes[next] : 1;
      MT_CHECK(a == b || a == 1 || b == 1, "the indices have ", a, " and ", b,
               " entries along one dimension and do not broadcast");
      index_sizes[i] = a == 1 ? b : a;
    }
    index_ndim = common;
  }
  first = adjacent && before > 0 ? before : 0;
  auto add = [&](int64_t size, int64_t stride) {
    MT_CHECK(ndim < kMaxDims, "the result has more than ", kMaxDims, " dimensions");
    sizes[ndim] = size, table_strides[ndim] = stride;
    ++ndim;
  };
  bool placed = given == 0;
  for (int d = 0; d <= self.ndim; ++d) {
    if (!placed && ndim == first)
      for (int i = 0; i < index_ndim; ++i) add(index_sizes[i], 0);
    placed = placed || ndim >= first;
    const bool kept = d >= int(indices.size()) || indices[size_t(d)].ndim < 0;
    if (d < self.ndim && kept) add(self.sizes[d], self.strides[d]);
  }
}

AdvancedIndex::AdvancedIndex(const View& self, const std::vector<View>& indices, bool wraps)
    : shape_(self, indices), offsets_(shape_.index_sizes, shape_.index_ndim, DType::int64) {
  k::fill(offsets_.view(), 0);
  const int64_t item = int64_t(mt::itemsize(self.dtype));
  for (int d = 0; d < int(indices.size()); ++d) {
    if (indices[size_t(d)].ndim < 0) continue;
    k::add_offsets(offsets_.view(),
                   {indices[size_t(d)], self.sizes[d], self.strides[d] * item, wraps, d, refuse_index});
  }
  for (int i = 0; i < shape_.ndim; ++i) {
    const int own = i - shape_.first;
    index_strides_[i] = own >= 0 && own < shape_.index_ndim ? offsets_.view().strides[own] : 0;
  }
  table_ = {self.data, shape_.sizes, shape_.table_strides, shape_.ndim, self.dtype};
  const View spread{offsets_.view().data, shape_.sizes, index_strides_, shape_.ndim, DType::int64};
  lookup_ = {spread, std::numeric_limits<int64_t>::max(), 1, false, 0, refuse_index};
}

}  // namespace softnpu::ops
