// Several index tensors at once, as in x[i, :, j]: where they go in the result, and the offsets they amount to.
#pragma once

#include <vector>

#include "ops/common/lookup.h"
#include "ops/common/temporary.h"

namespace softnpu::ops {

// The shapes. Indices that stand side by side are replaced by their common shape in place; otherwise it comes first.
struct IndexingShape {
  int64_t sizes[kMaxDims], table_strides[kMaxDims];  // of the result; strides of the indexed tensor in it
  int64_t index_sizes[kMaxDims];
  int ndim = 0, index_ndim = 0, first = 0;

  // `indices` has one entry per dimension of `self`, with dtype int64 or (for a dimension that is kept) a null `data` and
  // ndim -1. Throws where they do not fit.
  IndexingShape(const View& self, const std::vector<View>& indices);
};

inline constexpr View kWholeDim{nullptr, nullptr, nullptr, -1, DType::int64};

// Ready for the loops of kernels/index/indexed.h.
class AdvancedIndex {
 public:
  AdvancedIndex(const View& self, const std::vector<View>& indices, bool wraps);
  AdvancedIndex(const AdvancedIndex&) = delete;
  AdvancedIndex& operator=(const AdvancedIndex&) = delete;

  const IndexingShape& shape() const { return shape_; }
  const View& table() const { return table_; }
  const mt::kernels::Lookup& lookup() const { return lookup_; }

 private:
  IndexingShape shape_;
  Temporary offsets_;
  int64_t index_strides_[kMaxDims];
  View table_;
  mt::kernels::Lookup lookup_;
};

}  // namespace softnpu::ops
