// Reading through indices.
#include "op_plans.h"
#include "ops/common/views.h"
#include "ops/index/advanced_index.h"
#include "ops/index/index_list.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// out[.., index.., ..] = self[.., dim, ..]: the index's dimensions take the place of `dim`; the first `batch_dims` of them
// run along with self's.
void take_along(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* index, int64_t batch_dims,
                const aclTensor* out) {
  const Operand in = at_least_1d(plan.input(self, "self")), at = plan.input(index, "index"),
                given = plan.output(out, "out");
  const int along = plan.dim(dim, in);
  plan.require_dtype(at, "index", kIndexDTypes);
  plan.require_same_dtype(given, "out", in, "self");
  if (batch_dims < 0 || batch_dims > std::min<int64_t>(along, at.ndim))
    plan.invalid("batchDims is ", batch_dims, ", wanted 0 to ", std::min<int64_t>(along, at.ndim));
  Operand table = in;
  int place[kMaxDims];  // which dimension of the index a dimension of the result belongs to
  std::vector<int64_t> sizes;
  auto add = [&](int64_t size, int64_t stride, int from) {
    if (sizes.size() >= kMaxDims) plan.invalid("the result has more than ", kMaxDims, " dimensions");
    table.strides[sizes.size()] = stride;
    place[sizes.size()] = from;
    sizes.push_back(size);
  };
  for (int i = 0; i < along; ++i) {
    if (i < batch_dims && in.sizes[i] != at.sizes[i])
      plan.invalid("self has shape ", shape_text(in), " and index ", shape_text(at), "; the first ",
                   batch_dims, " dimensions must be the same");
    add(in.sizes[i], in.strides[i], i < batch_dims ? i : -1);
  }
  for (int i = int(batch_dims); i < at.ndim; ++i) add(at.sizes[i], 0, i);
  for (int i = along + 1; i < in.ndim; ++i) add(in.sizes[i], in.strides[i], -1);
  std::copy(sizes.begin(), sizes.end(), table.sizes);
  table.ndim = int16_t(sizes.size());
  // A scalar index into a vector gives a scalar, or a vector of one element.
  const Operand to = sizes.empty() && given.ndim == 1 ? single_element(plan, given, "out") : given;
  plan.require_shape(to, "out", sizes);
  const int64_t size = in.sizes[along], stride = in.strides[along] * item_bytes(in);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs indices = as_long(at.view(e));
    int64_t strides[kMaxDims];
    for (int i = 0; i < to.ndim; ++i) strides[i] = place[i] < 0 ? 0 : indices.view().strides[place[i]];
    const View spread{indices.view().data, to.sizes, strides, to.ndim, DType::int64};
    k::gather(to.view(e), table.view(e), {spread, size, stride, true, along, refuse_index});
  });
}

}  // namespace

void IndexSelect(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* index, aclTensor* out) {
  const Operand in = at_least_1d(plan.input(self, "self")), at = plan.input(index, "index"),
                to = at_least_1d(plan.output(out, "out"));
  const int along = plan.dim(dim, in);
  plan.require_dtype(at, "index", kIndexDTypes);
  plan.require_same_dtype(to, "out", in, "self");
  if (at.ndim > 1)
    plan.invalid("tensor 'index' has shape ", shape_text(at), ", wanted at most one dimension");
  std::vector<int64_t> sizes(in.sizes, in.sizes + in.ndim);
  sizes[size_t(along)] = at.numel();  // a scalar index selects one row, and the dimension stays
  plan.require_shape(to, "out", sizes);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs indices = as_long(at.view(e));
    const View result = to.view(e);
    const Spread spread(indices.view(), result, along);
    const Along lookup(in.view(e), along, spread.view, true);
    k::gather(result, lookup.table, lookup.lookup);
  });
}
void GatherV2(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* index, aclTensor* out) {
  take_along(plan, self, dim, index, 0, out);
}
// mode chooses between precision and speed on the card.
void GatherV3(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* index, int64_t batchDims,
              int64_t mode, aclTensor* out) {
  if (mode != 0 && mode != 1) plan.invalid("mode is ", mode, ", wanted 0 or 1");
  take_along(plan, self, dim, index, batchDims, out);
}

void Gather(Plan& plan, const aclTensor* self, const int64_t dim, const aclTensor* index, aclTensor* out) {
  const Operand in = at_least_1d(plan.input(self, "self")), at = at_least_1d(plan.input(index, "index")),
                to = at_least_1d(plan.output(out, "out"));
  const int along = plan.dim(dim, in);
  plan.require_dtype(at, "index", kIndexDTypes);
  plan.require_same_dtype(to, "out", in, "self");
  plan.require_same_shape(to, "out", at, "index");
  require_inside(plan, at, "index", in, "self", along);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs indices = as_long(at.view(e));
    const Along lookup(in.view(e), along, indices.view(), true);
    k::gather(to.view(e), lookup.table, lookup.lookup);
  });
}

void GatherNd(Plan& plan, const aclTensor* self, const aclTensor* indices, bool negativeIndexSupport,
              aclTensor* out) {
  const Operand in = plan.input(self, "self"), at = plan.input(indices, "indices"),
                to = plan.output(out, "out");
  plan.require_dtype(at, "indices", kIndexDTypes);
  plan.require_same_dtype(to, "out", in, "self");
  require_coordinates(plan, in, "self", at, to, "out");
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs longs = as_long(at.view(e));
    const AdvancedIndex found(in.view(e), coordinates(longs.view()), negativeIndexSupport);
    k::gather(to.view(e), found.table(), found.lookup());
  });
}

void Take(Plan& plan, const aclTensor* self, const aclTensor* index, aclTensor* out) {
  const Operand in = plan.input(self, "self"), at = plan.input(index, "index"), to = plan.output(out, "out");
  plan.require_dtype(at, "index", kIndexDTypes);
  plan.require_same_dtype(to, "out", in, "self");
  plan.require_same_shape(to, "out", at, "index");
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs table = dense_input(in.view(e)), indices = as_long(at.view(e));
    const View result = to.view(e);
    const FlatLookup flat(table.view(), indices.view());
    k::gather(result, flat.table, flat.lookup);
  });
}

void Index(Plan& plan, const aclTensor* self, const aclTensorList* indices, aclTensor* out) {
  const Operand in = plan.input(self, "self");
  const IndexList list(plan, in, indices);
  const Operand to = plan.output(out, "out");
  plan.require_same_dtype(to, "out", in, "self");
  if (to.numel() == 0) return;
  list.require_result(plan, in, to, "out");
  plan.run([in, to, list](const aclOpExecutor& e) {
    const View table = in.view(e), result = to.view(e);
    list.with(e, table, [&](const AdvancedIndex& found) {
      const View shape{nullptr, found.shape().sizes, nullptr, found.shape().ndim, in.dtype};
      MT_CHECK(k::same_shape(shape, result), "the indexed elements do not have the shape of the result");
      k::gather(result, found.table(), found.lookup());
    });
  });
}

}  // namespace softnpu::ops
