// Writing through indices along one dimension.
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/index/indexed_reduce.h"
#include "op_plans.h"
#include "ops/index/index_list.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

constexpr DTypeSet kElements = domains::every;

// Where the result goes: another tensor, or where self is.
struct Destination {
  const aclTensor* tensor;
  bool in_place = false;
  Destination(const aclTensor* out) : tensor(out) {}
  explicit Destination(bool here) : tensor(nullptr), in_place(here) {}
};
const Destination kInPlace(true);

// `out` starts with self's values. It is the operator's last parameter, so it is taken when the others have been.
struct Target {
  Operand self, out;

  Target(Plan& plan, const aclTensor* from, const Destination& to)
      : self(at_least_1d(to.in_place ? plan.output(from, "selfRef") : plan.input(from, "self"))), out(self) {
    plan.require_dtype(self, "self", kElements);
  }
  void take_out(Plan& plan, const Destination& to) {
    if (to.in_place) return;
    out = at_least_1d(plan.output(to.tensor, "out"));
    plan.require_same_dtype(out, "out", self, "self");
    plan.require_same_shape(out, "out", self, "self");
  }
  View start(const aclOpExecutor& e) const {
    const View result = out.view(e);
    if (self.slot != out.slot) k::copy(self.view(e), result);
    return result;
  }
};

k::Combine combine_of(const Plan& plan, int64_t reduce) {
  switch (reduce) {
    case 0: return k::Combine::write;
    case 1: return k::Combine::add;
    case 2: return k::Combine::multiply;
    default: plan.invalid("reduce is ", reduce, ", wanted 0 (none), 1 (add) or 2 (multiply)");
  }
}

struct Indexed {
  Operand index;
  int along;

  Indexed(Plan& plan, const Target& target, int64_t dim, const aclTensor* indices)
      : index(at_least_1d(plan.input(indices, "index"))), along(plan.dim(dim, target.self)) {
    plan.require_dtype(index, "index", kIndexDTypes);
    require_inside(plan, index, "index", target.self, "self", along);
  }
};

// The part of the source that the index covers.
Operand source_of(Plan& plan, const aclTensor* src, const Target& target, const Operand& index) {
  Operand source = at_least_1d(plan.input(src, "src"));
  plan.require_same_dtype(source, "src", target.self, "self");
  require_inside(plan, index, "index", source, "src", -1);
  if (index.ndim == source.ndim) std::copy(index.sizes, index.sizes + index.ndim, source.sizes);
  return source;
}

void scatter_tensor(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* indices,
                    const aclTensor* src, k::Combine combine, const Destination& out) {
  Target target(plan, self, out);
  const Indexed indexed(plan, target, dim, indices);
  const Operand source = source_of(plan, src, target, indexed.index);
  target.take_out(plan, out);
  plan.run([=](const aclOpExecutor& e) {
    const View result = target.start(e);
    if (indexed.index.numel() == 0) return;
    const ReadAs index = as_long(indexed.index.view(e));
    const Along along(result, indexed.along, index.view(), true);
    k::scatter(along.table, along.lookup, source.view(e), combine);
  });
}

void scatter_number(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* indices,
                    const aclScalar* value, k::Combine combine, const Destination& out) {
  Target target(plan, self, out);
  const Indexed indexed(plan, target, dim, indices);
  const Scalar number = plan.scalar(value, "value");
  target.take_out(plan, out);
  plan.run([=](const aclOpExecutor& e) {
    const View result = target.start(e);
    if (indexed.index.numel() == 0) return;
    const ReadAs index = as_long(indexed.index.view(e));
    const Along along(result, indexed.along, index.view(), true);
    k::scatter(along.table, along.lookup, NumberView(number, result.dtype).view, combine);
  });
}

void reduce_meeting(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* indices,
                    const aclTensor* src, int64_t reduce, bool include_self, const Destination& out) {
  static constexpr k::Meeting kMeetings[] = {k::Meeting::sum, k::Meeting::product, k::Meeting::max,
                                             k::Meeting::min, k::Meeting::mean};
  if (reduce < 0 || reduce > 5)
    plan.invalid("reduce is ", reduce,
                 ", wanted 0 (none), 1 (sum), 2 (product), 3 (maximum), 4 (minimum) or 5 (mean)");
  if (reduce == 0) return scatter_tensor(plan, self, dim, indices, src, k::Combine::write, out);
  const k::Meeting meeting = kMeetings[reduce - 1];
  Target target(plan, self, out);
  if (meeting != k::Meeting::sum && meeting != k::Meeting::product)
    plan.require_dtype(target.self, "self", domains::every_ordered);
  const Indexed indexed(plan, target, dim, indices);
  const Operand source = source_of(plan, src, target, indexed.index);
  target.take_out(plan, out);
  plan.run([=](const aclOpExecutor& e) {
    const View result = target.start(e);
    if (indexed.index.numel() == 0) return;
    const ReadAs index = as_long(indexed.index.view(e));
    const Along along(result, indexed.along, index.view(), true);
    k::scatter_reduce(result, along.table, along.lookup, source.view(e), meeting, include_self);
  });
}

// A vector of indices, each for a slice of the source along `dim`.
void slices(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* indices, const aclTensor* src,
            const Scalar& alpha, k::Combine combine, const Destination& out) {
  Target target(plan, self, out);
  const Operand index = plan.input(indices, "index"), source = at_least_1d(plan.input(src, "source"));
  const int along = plan.dim(dim, target.self);
  plan.require_dtype(index, "index", kIndexDTypes);
  plan.require_same_dtype(source, "source", target.self, "self");
  if (index.ndim > 1)
    plan.invalid("tensor 'index' has shape ", shape_text(index), ", wanted at most one dimension");
  std::vector<int64_t> sizes(target.self.sizes, target.self.sizes + target.self.ndim);
  sizes[size_t(along)] = index.numel();
  plan.require_shape(source, "source", sizes);
  target.take_out(plan, out);
  plan.run([=](const aclOpExecutor& e) {
    const View result = target.start(e);
    if (index.numel() == 0) return;
    const ReadAs longs = as_long(index.view(e));
    View from = source.view(e);
    std::optional<Temporary> scaled;
    if (!alpha.equals(1)) {
      scaled.emplace(from, from.dtype);
      k::binary<k::mul_op>(from, NumberView(alpha, from.dtype).view, scaled->view(), from.dtype);
      from = scaled->view();
    }
    const Spread spread(longs.view(), from, along);
    const Along lookup(result, along, spread.view, true);
    k::scatter(lookup.table, lookup.lookup, from, combine);
  });
}

// The same value into every slice that an index names: a tensor, or numbers of the host.
void fill_slices(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* indices,
                 const aclIntArray* array, const aclScalar* value, const Destination& out) {
  Target target(plan, self, out);
  const int along = plan.dim(dim, target.self);
  const Scalar number = plan.scalar(value, "value");
  std::optional<Operand> index;
  std::vector<int64_t> numbers;
  if (array != nullptr) {
    numbers = plan.integers(array, "index");
  } else {
    index = plan.input(indices, "index");
    plan.require_dtype(*index, "index", kIndexDTypes);
    if (index->ndim > 1)
      plan.invalid("tensor 'index' has shape ", shape_text(*index), ", wanted at most one dimension");
  }
  const int64_t size = target.self.sizes[along];
  for (int64_t i : numbers)
    if (i < -size || i >= size)
      plan.invalid("index ", i, " is out of bounds for dimension ", along, " with size ", size);
  target.take_out(plan, out);
  plan.run([=](const aclOpExecutor& e) {
    const View result = target.start(e);
    const int64_t count = int64_t(numbers.size()), one = 1;
    const View host{const_cast<int64_t*>(numbers.data()), &count, &one, 1, DType::int64};
    const ReadAs longs = as_long(index ? index->view(e) : host);
    int64_t sizes[kMaxDims];
    std::copy(result.sizes, result.sizes + result.ndim, sizes);
    sizes[along] = longs.view().numel();
    const View shape{nullptr, sizes, nullptr, result.ndim, result.dtype};
    const Spread spread(longs.view(), shape, along);
    const Along lookup(result, along, spread.view, true);
    k::scatter(lookup.table, lookup.lookup, NumberView(number, result.dtype).view, k::Combine::write);
  });
}

const aclIntArray* required(const Plan& plan, const aclIntArray* index) {
  plan.integers(index, "index");
  return index;
}

}  // namespace

void Scatter(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* index, const aclTensor* src,
             int64_t reduce, aclTensor* out) {
  scatter_tensor(plan, self, dim, index, src, combine_of(plan, reduce), out);
}
void InplaceScatter(Plan& plan, aclTensor* selfRef, int64_t dim, const aclTensor* index, const aclTensor* src,
                    int64_t reduce) {
  scatter_tensor(plan, selfRef, dim, index, src, combine_of(plan, reduce), kInPlace);
}
void ScatterAdd(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* index, const aclTensor* src,
                aclTensor* out) {
  scatter_tensor(plan, self, dim, index, src, k::Combine::add, out);
}
void ScatterValue(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* index,
                  const aclScalar* value, int64_t reduce, aclTensor* out) {
  scatter_number(plan, self, dim, index, value, combine_of(plan, reduce), out);
}
void InplaceScatterValue(Plan& plan, aclTensor* selfRef, int64_t dim, const aclTensor* index,
                         const aclScalar* value, int64_t reduce) {
  scatter_number(plan, selfRef, dim, index, value, combine_of(plan, reduce), kInPlace);
}
void ScatterReduce(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* index,
                   const aclTensor* src, int64_t reduce, bool includeSelf, aclTensor* out) {
  reduce_meeting(plan, self, dim, index, src, reduce, includeSelf, out);
}
void InplaceScatterReduce(Plan& plan, aclTensor* selfRef, int64_t dim, const aclTensor* index,
                          const aclTensor* src, int64_t reduce, bool includeSelf) {
  reduce_meeting(plan, selfRef, dim, index, src, reduce, includeSelf, kInPlace);
}

void IndexAdd(Plan& plan, const aclTensor* self, const int64_t dim, const aclTensor* index,
              const aclTensor* source, const aclScalar* alpha, aclTensor* out) {
  slices(plan, self, dim, index, source, plan.scalar(alpha, "alpha"), k::Combine::add, out);
}
// mode chooses between precision and speed on the card.
void IndexAddV2(Plan& plan, const aclTensor* self, const int64_t dim, const aclTensor* index,
                const aclTensor* source, const aclScalar* alpha, int64_t mode, aclTensor* out) {
  if (mode != 0 && mode != 1) plan.invalid("mode is ", mode, ", wanted 0 or 1");
  slices(plan, self, dim, index, source, plan.scalar(alpha, "alpha"), k::Combine::add, out);
}
void IndexCopy(Plan& plan, aclTensor* selfRef, int64_t dim, const aclTensor* index, const aclTensor* source,
               aclTensor* outRef) {
  slices(plan, selfRef, dim, index, source, 1, k::Combine::write, outRef);
}
void InplaceIndexCopy(Plan& plan, aclTensor* selfRef, int64_t dim, const aclTensor* index,
                      const aclTensor* source) {
  slices(plan, selfRef, dim, index, source, 1, k::Combine::write, kInPlace);
}

void IndexFill(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* index, const aclScalar* value,
               aclTensor* out) {
  fill_slices(plan, self, dim, index, nullptr, value, out);
}
void InplaceIndexFill(Plan& plan, aclTensor* selfRef, int64_t dim, const aclTensor* index,
                      const aclScalar* value) {
  fill_slices(plan, selfRef, dim, index, nullptr, value, kInPlace);
}
void IndexFillTensor(Plan& plan, const aclTensor* self, int64_t dim, const aclIntArray* index,
                     const aclScalar* value, aclTensor* out) {
  fill_slices(plan, self, dim, nullptr, required(plan, index), value, out);
}
void InplaceIndexFillTensor(Plan& plan, aclTensor* selfRef, int64_t dim, const aclIntArray* index,
                            const aclScalar* value) {
  fill_slices(plan, selfRef, dim, nullptr, required(plan, index), value, kInPlace);
}

}  // namespace softnpu::ops
