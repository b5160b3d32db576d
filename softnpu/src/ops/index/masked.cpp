// Elements chosen and filled by a mask, and where elements are not zero.
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/index/indexed.h"
#include "op_plans.h"
#include "ops/common/late_output.h"
#include "ops/common/lookup.h"
#include "ops/common/temporary.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

constexpr DTypeSet kMask = k::dtype_set(DType::boolean, DType::uint8);

// The elements that a mask chooses, as places in row-major order.
class Chosen {
 public:
  explicit Chosen(const View& mask)
      : dense_(mask, mask.dtype),
        flat_size_(mask.numel()),
        places_({k::count_nonzero(dense_.view()), 1}, DType::int64) {
    const int64_t one = 1;
    const View flat{dense_.view().data, &flat_size_, &one, 1, mask.dtype, flat_size_};
    k::nonzero(flat, places_.view());
  }
  int64_t count() const { return places_.view().sizes[0]; }
  // One dimension.
  View places() const {
    View view = places_.view();
    view.ndim = 1;
    return view;
  }

 private:
  ReadAs dense_;
  int64_t flat_size_;
  Temporary places_;
};

struct FlatTable {
  int64_t strides[1] = {0};
  View table;
  k::Lookup lookup;
  FlatTable(const View& dense, const View& places) {
    table = {dense.data, places.sizes, strides, 1, dense.dtype};
    lookup = {places, dense.numel(), int64_t(mt::itemsize(dense.dtype)), false, 0, refuse_index};
  }
};

// With a tensor of one element, or with a number.
void masked_fill(Plan& plan, const aclTensor* selfRef, const aclTensor* mask, const aclTensor* value,
                 const std::optional<Scalar>& number) {
  const Operand to = plan.output(selfRef, "selfRef"), which = plan.input(mask, "mask");
  plan.require_dtype(which, "mask", kMask);
  plan.require_dtype(to, "selfRef", domains::every);
  plan.require_broadcast(which, "mask", to);
  std::optional<Operand> element;
  if (!number) element = single_element(plan, plan.input(value, "value"), "value");
  plan.run([=](const aclOpExecutor& e) {
    const View target = to.view(e);
    const NumberView constant(number.value_or(Scalar(0)), to.dtype);
    k::where(which.view(e), element ? element->view(e) : constant.view, target, target);
  });
}

}  // namespace

void SWhere(Plan& plan, const aclTensor* condition, const aclTensor* self, const aclTensor* other,
            aclTensor* out) {
  const Operand which = plan.input(condition, "condition"), a = plan.input(self, "self"),
                b = plan.input(other, "other"), to = plan.output(out, "out");
  plan.require_dtype(which, "condition", kMask);
  plan.require_broadcast(which, "condition", to);
  plan.require_broadcast(a, "self", to);
  plan.require_broadcast(b, "other", to);
  plan.run([=](const aclOpExecutor& e) { k::where(which.view(e), a.view(e), b.view(e), to.view(e)); });
}

void InplaceMaskedFillScalar(Plan& plan, aclTensor* selfRef, const aclTensor* mask, const aclScalar* value) {
  masked_fill(plan, selfRef, mask, nullptr, plan.scalar(value, "value"));
}
void InplaceMaskedFillTensor(Plan& plan, aclTensor* selfRef, const aclTensor* mask, const aclTensor* value) {
  masked_fill(plan, selfRef, mask, value, std::nullopt);
}

void MaskedSelect(Plan& plan, const aclTensor* self, const aclTensor* mask, aclTensor* out) {
  const Operand in = plan.input(self, "self"), which = plan.input(mask, "mask");
  const LateOutput result(plan, out, "out");
  plan.require_dtype(which, "mask", kMask);
  plan.require_dtype(in, "self", domains::every);
  plan.require_same_dtype(result.room(), "out", in, "self");
  plan.require_ndim(result.room(), "out", 1);
  int64_t sizes[kMaxDims];
  const int ndim = std::max(in.ndim, which.ndim);
  for (int i = 0; i < ndim; ++i) {
    const int a = i - (ndim - in.ndim), b = i - (ndim - which.ndim);
    const int64_t in_size = a < 0 ? 1 : in.sizes[a], mask_size = b < 0 ? 1 : which.sizes[b];
    sizes[i] = in_size == 1 ? mask_size : in_size;
  }
  const Operand values = broadcast_to(plan, in, "self", sizes, ndim),
                chosen = broadcast_to(plan, which, "mask", sizes, ndim);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs dense = dense_input(values.view(e));
    const Chosen places(chosen.view(e));
    const Operand to = result.found({places.count()});
    if (places.count() == 0) return;
    const View found = places.places();
    const FlatTable flat(dense.view(), found);
    k::gather(to.view(e), flat.table, flat.lookup);
  });
}

void InplaceMaskedScatter(Plan& plan, aclTensor* selfRef, const aclTensor* mask, const aclTensor* source) {
  const Operand to = plan.output(selfRef, "selfRef"), which = plan.input(mask, "mask"),
                from = plan.input(source, "source");
  plan.require_dtype(which, "mask", kMask);
  plan.require_dtype(to, "selfRef", domains::every);
  plan.require_same_dtype(from, "source", to, "selfRef");
  const Operand chosen = broadcast_to(plan, which, "mask", to);
  plan.run([=](const aclOpExecutor& e) {
    const View target = to.view(e);
    const Chosen places(chosen.view(e));
    MT_CHECK(places.count() <= from.numel(), "the mask chooses ", places.count(),
             " elements but 'source' has only ", from.numel());
    if (places.count() == 0) return;
    const ReadAs old = dense_input(target), values = dense_input(from.view(e));
    const View found = places.places();
    const FlatTable flat(old.view(), found);
    const int64_t count = places.count(), one = 1;
    k::scatter(flat.table, flat.lookup, {values.view().data, &count, &one, 1, to.dtype}, k::Combine::write);
    if (old.view().data != target.data) k::copy(old.view(), target);
  });
}

void MaskedScale(Plan& plan, const aclTensor* self, const aclTensor* mask, float scale, aclTensor* out) {
  const Operand in = plan.input(self, "self"), which = plan.input(mask, "mask"), to = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::floating);
  plan.require_dtype(to, "out", domains::floating);
  plan.require_same_shape(to, "out", in, "self");
  plan.require_same_shape(which, "mask", in, "self");
  plan.run([=](const aclOpExecutor& e) {
    const DType compute = to.dtype == DType::float64 ? DType::float64 : DType::float32;
    const View from = in.view(e);
    const Temporary kept(from, compute);
    const NumberView factor(Scalar(double(scale)), compute);
    k::binary<k::mul_op>(from, which.view(e), kept.view(), compute);
    k::binary<k::mul_op>(kept.view(), factor.view, to.view(e), compute);
  });
}

namespace {

// Coordinates of elements that are not zero, one row (or, transposed, one column) for each.
void nonzero(Plan& plan, const aclTensor* self, aclTensor* out, bool transposed) {
  const Operand in = plan.input(self, "self");
  const LateOutput result(plan, out, "out");
  plan.require_dtype(in, "self", domains::every);
  plan.require_dtype(result.room(), "out", k::dtype_set(DType::int64));
  plan.require_ndim(result.room(), "out", 2);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs dense = dense_input(in.view(e));
    const int64_t count = k::count_nonzero(dense.view()), depth = in.ndim;
    const Operand found = transposed ? result.found({depth, count}) : result.found({count, depth});
    const Operand rows = transposed ? swapped(found, 0, 1) : found;
    if (count != 0 && depth != 0) k::nonzero(dense.view(), rows.view(e));
  });
}

}  // namespace

void Nonzero(Plan& plan, const aclTensor* self, aclTensor* out) { nonzero(plan, self, out, false); }
void NonzeroV2(Plan& plan, const aclTensor* self, aclTensor* out) { nonzero(plan, self, out, true); }

}  // namespace softnpu::ops
