#include "ops/index/index_list.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

bool is_mask(const Operand& index) { return index.dtype == DType::boolean || index.dtype == DType::uint8; }

}  // namespace

IndexList::IndexList(Plan& plan, const Operand& self, const aclTensorList* list) {
  int dims = 0;
  bool any = false;
  for (const std::optional<Operand>& given : plan.optional_inputs(list, "indices")) {
    Entry entry;
    entry.operand.ndim = 0;
    entry.whole = !given || given->numel() == 0;
    if (!entry.whole) {
      entry.operand = *given;
      plan.require_dtype(entry.operand, "indices", kIndexDTypes | k::dtype_set(DType::boolean, DType::uint8));
      any = true;
      if (is_mask(entry.operand)) {
        bool fits = dims + entry.operand.ndim <= self.ndim;
        for (int i = 0; fits && i < entry.operand.ndim; ++i)
          fits = entry.operand.sizes[i] == self.sizes[dims + i];
        if (!fits)
          plan.invalid("a mask of shape ", shape_text(entry.operand), " does not fit dimension ", dims,
                       " and following of shape ", shape_text(self));
      }
    }
    dims += !entry.whole && is_mask(entry.operand) ? entry.operand.ndim : 1;
    indices_.push_back(entry);
  }
  if (dims > self.ndim) plan.invalid("too many indices: ", dims, " for a tensor of shape ", shape_text(self));
  if (!any) indices_.clear();
}

bool IndexList::has_mask() const {
  for (const Entry& entry : indices_)
    if (!entry.whole && is_mask(entry.operand)) return true;
  return false;
}

std::vector<View> IndexList::shapes() const {
  std::vector<View> shapes;
  for (const Entry& entry : indices_)
    shapes.push_back(entry.whole ? kWholeDim
                                 : View{nullptr, entry.operand.sizes, entry.operand.strides,
                                        entry.operand.ndim, DType::int64});
  return shapes;
}

void IndexList::require_result(const Plan& plan, const Operand& self, const Operand& result,
                               const char* name) const {
  if (has_mask()) return;
  const IndexingShape shape({nullptr, self.sizes, self.strides, self.ndim, self.dtype}, shapes());
  plan.require_shape(result, name, {shape.sizes, shape.sizes + shape.ndim});
}

void IndexList::require_source(const Plan& plan, const Operand& self, const Operand& source,
                               const char* name) const {
  if (has_mask()) return;
  const IndexingShape shape({nullptr, self.sizes, self.strides, self.ndim, self.dtype}, shapes());
  broadcast_to(plan, source, name, shape.sizes, shape.ndim);
}

std::vector<View> IndexList::views(const aclOpExecutor& e, std::deque<ReadAs>& kept,
                                   std::deque<Temporary>& found) const {
  std::vector<View> views;
  for (const Entry& entry : indices_) {
    if (entry.whole) {
      views.push_back(kWholeDim);
    } else if (!is_mask(entry.operand)) {
      views.push_back(kept.emplace_back(entry.operand.view(e), DType::int64, false).view());
    } else {
      const ReadAs mask(entry.operand.view(e), entry.operand.dtype);
      const int64_t count = k::count_nonzero(mask.view());
      const View& places =
          found.emplace_back(std::initializer_list<int64_t>{count, entry.operand.ndim}, DType::int64).view();
      k::nonzero(mask.view(), places);
      for (int d = 0; d < entry.operand.ndim; ++d)
        views.push_back({places.as<int64_t>() + d, places.sizes, places.strides, 1, DType::int64});
    }
  }
  return views;
}

}  // namespace softnpu::ops
