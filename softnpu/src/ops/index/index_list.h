// Indices as operators are given them, checked.
#pragma once

#include <deque>

#include "ops/common/views.h"
#include "ops/index/advanced_index.h"

namespace softnpu::ops {

inline constexpr DTypeSet kIndexDTypes = mt::kernels::dtype_set(DType::int32, DType::int64);

// Along every dimension but one, `inner` must not be longer than `outer`.
inline void require_inside(const Plan& plan, const Operand& inner, const char* inner_name,
                           const Operand& outer, const char* outer_name, int except) {
  bool fits = inner.ndim == outer.ndim;
  for (int i = 0; fits && i < inner.ndim; ++i) fits = i == except || inner.sizes[i] <= outer.sizes[i];
  if (!fits && inner.numel() != 0)
    plan.invalid("tensor '", inner_name, "' of shape ", shape_text(inner), " is larger than '", outer_name,
                 "' of shape ", shape_text(outer), " apart from dimension ", except);
}

// A tensor as a row of its elements, looked up by indices of any shape.
struct FlatLookup {
  int64_t strides[kMaxDims] = {};
  View table;
  mt::kernels::Lookup lookup;

  FlatLookup(const View& dense, const View& index) {
    table = {dense.data, index.sizes, strides, index.ndim, dense.dtype};
    lookup = {index, dense.numel(), int64_t(mt::itemsize(dense.dtype)), true, 0, refuse_index};
  }
  FlatLookup(const FlatLookup&) = delete;
  FlatLookup& operator=(const FlatLookup&) = delete;
};

// The last dimension of `indices` holds coordinates: `slices` has the shape of the rest, then that of what they leave of
// `table`.
inline void require_coordinates(const Plan& plan, const Operand& table, const char* table_name,
                                const Operand& indices, const Operand& slices, const char* slices_name) {
  const int64_t depth = indices.ndim == 0 ? 0 : indices.sizes[indices.ndim - 1];
  if (indices.ndim == 0 || depth > table.ndim)
    plan.invalid("tensor 'indices' has shape ", shape_text(indices), ", wanted at most ", table.ndim,
                 " coordinates for '", table_name, "' of shape ", shape_text(table));
  std::vector<int64_t> wanted(indices.sizes, indices.sizes + indices.ndim - 1);
  wanted.insert(wanted.end(), table.sizes + depth, table.sizes + table.ndim);
  plan.require_shape(slices, slices_name, wanted);
}
inline std::vector<View> coordinates(const View& indices) {
  std::vector<View> columns;
  const int last = indices.ndim - 1;
  for (int64_t i = 0; i < indices.sizes[last]; ++i)
    columns.push_back({indices.as<int64_t>() + i * indices.strides[last], indices.sizes, indices.strides,
                       last, DType::int64});
  return columns;
}

// The tensors of x[i, :, mask]. One that is NULL or has no elements stands for a whole dimension (there is no other way to
// say so in a list); a mask of several dimensions stands for as many.
class IndexList {
 public:
  IndexList(Plan& plan, const Operand& self, const aclTensorList* list);

  bool empty() const { return indices_.empty(); }
  // The shape of the indexed elements, where it is known before the masks are.
  void require_result(const Plan& plan, const Operand& self, const Operand& result, const char* name) const;
  void require_source(const Plan& plan, const Operand& self, const Operand& source, const char* name) const;

  template <class F>
  void with(const aclOpExecutor& e, const View& self, F&& use) const {
    std::deque<ReadAs> kept;
    std::deque<Temporary> found;
    use(AdvancedIndex(self, views(e, kept, found), true));
  }

 private:
  struct Entry {
    Operand operand;
    bool whole;
  };
  bool has_mask() const;
  std::vector<View> shapes() const;
  std::vector<View> views(const aclOpExecutor& e, std::deque<ReadAs>& kept,
                          std::deque<Temporary>& found) const;

  std::vector<Entry> indices_;
};

}  // namespace softnpu::ops
