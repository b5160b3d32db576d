// Order along one dimension.
#include "kernels/sort/sort.h"

#include "op_plans.h"
#include "ops/common/lookup.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// The input with its dimension to sort along. A scalar counts as one dimension.
struct Sorted {
  Operand in;
  int along;

  Sorted(Plan& plan, const aclTensor* self, int64_t dim)
      : in(at_least_1d(plan.input(self, "self"))), along(plan.dim(dim, in)) {
    plan.require_dtype(in, "self", domains::every_ordered);
  }
};

Operand values_of(Plan& plan, const aclTensor* tensor, const char* name, const Operand& in) {
  const Operand values = at_least_1d(plan.output(tensor, name));
  plan.require_same_dtype(values, name, in, "self");
  return values;
}
Operand indices_of(Plan& plan, const aclTensor* tensor, const char* name) {
  const Operand indices = at_least_1d(plan.output(tensor, name));
  plan.require_dtype(indices, name, kInt64);
  return indices;
}

void topk(Plan& plan, const aclTensor* self, int64_t count, int64_t dim, bool largest,
          const aclTensor* values, const aclTensor* indices) {
  const Sorted sorted(plan, self, dim);
  const Operand &in = sorted.in, to = values_of(plan, values, "valuesOut", in),
                places = indices_of(plan, indices, "indicesOut");
  const int along = sorted.along;
  if (count < 0 || count > in.sizes[along])
    plan.invalid("k is ", count, ", wanted 0 to ", in.sizes[along], " for shape ", shape_text(in),
                 " along dim ", along);
  std::vector<int64_t> wanted(in.sizes, in.sizes + in.ndim);
  wanted[size_t(along)] = count;
  plan.require_shape(to, "valuesOut", wanted);
  plan.require_shape(places, "indicesOut", wanted);
  if (count == 0) return;
  plan.run([=, in = sorted.in](const aclOpExecutor& e) {
    k::topk(in.view(e), along, count, largest, to.view(e), places.view(e));
  });
}

}  // namespace

// Equal elements keep their order even where nobody asks for it.
void Sort(Plan& plan, const aclTensor* self, bool, int64_t dim, bool descending, aclTensor* valuesOut,
          aclTensor* indicesOut) {
  const Sorted sorted(plan, self, dim);
  const Operand values = values_of(plan, valuesOut, "valuesOut", sorted.in),
                indices = indices_of(plan, indicesOut, "indicesOut");
  plan.require_same_shape(values, "valuesOut", sorted.in, "self");
  plan.require_same_shape(indices, "indicesOut", sorted.in, "self");
  plan.run([=](const aclOpExecutor& e) {
    k::sort(sorted.in.view(e), sorted.along, descending, values.view(e), indices.view(e));
  });
}

void Argsort(Plan& plan, const aclTensor* self, int64_t dim, bool descending, aclTensor* out) {
  const Sorted sorted(plan, self, dim);
  const Operand indices = indices_of(plan, out, "out");
  plan.require_same_shape(indices, "out", sorted.in, "self");
  plan.run([=](const aclOpExecutor& e) {
    const View in = sorted.in.view(e);
    const Temporary values(in, in.dtype);
    k::sort(in, sorted.along, descending, values.view(), indices.view(e));
  });
}

void SortWithIndex(Plan& plan, const aclTensor* x, const aclTensor* index, const int64_t axis,
                   const bool descending, const bool, aclTensor* valuesOut, aclTensor* indicesOut) {
  const Sorted sorted(plan, x, axis);
  const Operand labels = at_least_1d(plan.input(index, "index")),
                values = values_of(plan, valuesOut, "valuesOut", sorted.in),
                indices = at_least_1d(plan.output(indicesOut, "indicesOut"));
  plan.require_same_dtype(indices, "indicesOut", labels, "index");
  plan.require_same_shape(labels, "index", sorted.in, "x");
  plan.require_same_shape(values, "valuesOut", sorted.in, "x");
  plan.require_same_shape(indices, "indicesOut", sorted.in, "x");
  plan.run([=](const aclOpExecutor& e) {
    const View in = sorted.in.view(e);
    const Temporary order(in, DType::int64);
    k::sort(in, sorted.along, descending, values.view(e), order.view());
    const Along along(labels.view(e), sorted.along, order.view(), false);
    k::gather(indices.view(e), along.table, along.lookup);
  });
}

void Topk(Plan& plan, const aclTensor* self, int64_t k, int64_t dim, bool largest, bool, aclTensor* valuesOut,
          aclTensor* indicesOut) {
  topk(plan, self, k, dim, largest, valuesOut, indicesOut);
}
// The policy is a matter of speed.
void TopkV2(Plan& plan, const aclTensor* self, int64_t k, int64_t dim, bool largest, bool, int64_t,
            aclTensor* valuesOut, aclTensor* indicesOut) {
  topk(plan, self, k, dim, largest, valuesOut, indicesOut);
}

void Kthvalue(Plan& plan, const aclTensor* self, int64_t k, int64_t dim, bool keepdim, aclTensor* valuesOut,
              aclTensor* indicesOut) {
  const Operand whole = plan.input(self, "self"), in = at_least_1d(whole),
                values = plan.output(valuesOut, "valuesOut"), indices = plan.output(indicesOut, "indicesOut");
  const int along = plan.dim(dim, in);
  plan.require_dtype(in, "self", domains::every_ordered);
  plan.require_same_dtype(values, "valuesOut", in, "self");
  plan.require_dtype(indices, "indicesOut", kInt64);
  if (k < 1 || k > in.sizes[along]) plan.invalid("k is ", k, ", wanted 1 to ", in.sizes[along]);
  std::vector<int64_t> wanted(whole.sizes, whole.sizes + whole.ndim);
  if (whole.ndim > 0 && keepdim) wanted[size_t(along)] = 1;
  else if (whole.ndim > 0) wanted.erase(wanted.begin() + along);
  plan.require_shape(values, "valuesOut", wanted);
  plan.require_shape(indices, "indicesOut", wanted);
  auto kept = [&](const Operand& out) {
    return out.ndim == in.ndim ? out : with_dim(plan, out, along, 1, 1);
  };
  plan.run([=, to = kept(values), places = kept(indices)](const aclOpExecutor& e) {
    k::kth_value(in.view(e), along, k - 1, to.view(e), places.view(e));
  });
}

namespace {

// Both sides meet in one dtype; where a number stands for the values, in the boundaries'.
void search(Plan& plan, const Operand& boundaries, const std::optional<Operand>& values, const Scalar& number,
            const std::optional<Operand>& sorter, bool right, bool narrow, const Operand& out) {
  plan.require_dtype(boundaries, "sortedSequence", domains::real);
  if (values) plan.require_dtype(*values, "self", domains::real);
  if (sorter) {
    plan.require_dtype(*sorter, "sorter", kInt64);
    plan.require_same_shape(*sorter, "sorter", boundaries, "sortedSequence");
  }
  plan.require_dtype(out, "out", k::dtype_set(narrow ? DType::int32 : DType::int64));
  if (boundaries.ndim == 0)
    plan.invalid("tensor 'sortedSequence' is a scalar, wanted at least one dimension");
  if (boundaries.ndim > 1) {
    bool fits = values && values->ndim == boundaries.ndim;
    for (int i = 0; fits && i + 1 < boundaries.ndim; ++i) fits = boundaries.sizes[i] == values->sizes[i];
    if (!fits)
      plan.invalid("tensor 'sortedSequence' of shape ", shape_text(boundaries),
                   " must agree with the values in all dimensions but the last, or have only one");
  }
  if (values) plan.require_same_shape(out, "out", *values, "self");
  else if (out.numel() != 1) plan.invalid("tensor 'out' has shape ", shape_text(out), ", wanted one element");
  const DType compute = values ? mt::promote(boundaries.dtype, values->dtype) : boundaries.dtype;
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs bounds(boundaries.view(e), compute);
    const NumberView constant(number, compute);
    const ReadAs wanted(values ? values->view(e) : constant.view, compute);
    std::optional<ReadAs> order;
    if (sorter) order.emplace(sorter->view(e), DType::int64);
    const WriteAs result(out.view(e));
    k::search_sorted(bounds.view(), order ? &order->view() : nullptr, wanted.view(), right, result.view());
    result.finish();
  });
}

}  // namespace

void SearchSorted(Plan& plan, const aclTensor* sortedSequence, const aclTensor* self, const bool outInt32,
                  const bool right, const aclTensor* sorter, aclTensor* out) {
  const Operand boundaries = plan.input(sortedSequence, "sortedSequence"), values = plan.input(self, "self");
  const std::optional<Operand> order = plan.optional_input(sorter, "sorter");
  search(plan, boundaries, values, Scalar(0), order, right, outInt32, plan.output(out, "out"));
}
void SearchSorteds(Plan& plan, const aclTensor* sortedSequence, const aclScalar* self, const bool outInt32,
                   const bool right, const aclTensor* sorter, aclTensor* out) {
  const Operand boundaries = plan.input(sortedSequence, "sortedSequence");
  const std::optional<Operand> order = plan.optional_input(sorter, "sorter");
  search(plan, boundaries, std::nullopt, plan.scalar(self, "self"), order, right, outInt32,
         plan.output(out, "out"));
}
void Bucketize(Plan& plan, const aclTensor* self, const aclTensor* boundaries, const bool outInt32,
               const bool right, aclTensor* out) {
  const Operand values = plan.input(self, "self"), bounds = plan.input(boundaries, "boundaries");
  plan.require_ndim(bounds, "boundaries", 1);
  search(plan, bounds, values, Scalar(0), std::nullopt, right, outInt32, plan.output(out, "out"));
}

}  // namespace softnpu::ops
