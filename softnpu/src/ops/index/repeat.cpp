// Every element, or slice, repeated in place.
#include "kernels/index/indexed.h"
#include "op_plans.h"
#include "ops/common/lookup.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

constexpr DTypeSet kRepeats = k::dtype_set(DType::int32, DType::int64);

// How often each slice comes: a tensor of numbers (one, or one for each slice), or one number of the host.
struct Repeats {
  std::optional<Operand> each;
  int64_t all = 0;

  static Repeats of(Plan& plan, const aclTensor* tensor, int64_t slices) {
    const Operand each = plan.input(tensor, "repeats");
    plan.require_dtype(each, "repeats", kRepeats);
    if (each.ndim > 1 || (each.numel() != 1 && each.numel() != slices))
      plan.invalid("tensor 'repeats' has shape ", shape_text(each), ", wanted 1 or ", slices, " elements");
    return {each, 0};
  }

  // For every place of the result the slice it comes from; `places` has one dimension.
  void fill(const aclOpExecutor& e, int64_t slices, const View& places) const {
    if (!each) {
      for (int64_t i = 0; i < places.sizes[0]; ++i) places.as<int64_t>()[i] = i / all;
      return;
    }
    const Temporary counts({slices}, DType::int64);
    const View given = each->view(e);
    const View one{given.data, nullptr, nullptr, 0, given.dtype};
    k::copy(each->numel() == 1 ? one : given, counts.view());
    k::repeat_runs(counts.view(), places);
  }
};

// The dimension to repeat along; without one, all elements in row-major order.
void repeat_along(Plan& plan, const Operand& in, int along, const Repeats& repeats, int64_t output_size,
                  const aclTensor* out) {
  const Operand to = plan.output(out, "out");
  const bool flat = along < 0;
  const int64_t slices = flat ? in.numel() : in.sizes[along];
  plan.require_same_dtype(in, "self", to, "out");
  std::vector<int64_t> wanted(in.sizes, in.sizes + in.ndim);
  if (flat) wanted = {to.ndim == 1 ? to.sizes[0] : 0};
  else if (to.ndim == in.ndim) wanted[size_t(along)] = to.sizes[along];
  plan.require_shape(to, "out", wanted);
  const int64_t length = to.sizes[flat ? 0 : along];
  if (!repeats.each && (repeats.all < 0 || length != slices * repeats.all))
    plan.invalid(slices, " slices repeated ", repeats.all, " times do not give shape ", shape_text(to));
  if (output_size != length)
    plan.invalid("outputSize is ", output_size, " but 'out' has shape ", shape_text(to));
  plan.run([=](const aclOpExecutor& e) {
    const Temporary places({length}, DType::int64);
    repeats.fill(e, slices, places.view());
    const View result = to.view(e);
    const Spread spread(places.view(), result, flat ? 0 : along);
    const int64_t one = 1;
    const ReadAs dense(in.view(e), in.dtype, flat);
    const View row{dense.view().data, &slices, &one, 1, in.dtype};
    const Along lookup(flat ? row : dense.view(), flat ? 0 : along, spread.view, false);
    k::gather(result, lookup.table, lookup.lookup);
  });
}

}  // namespace

void RepeatInterleave(Plan& plan, const aclTensor* self, const aclTensor* repeats, int64_t outputSize,
                      aclTensor* out) {
  const Operand in = plan.input(self, "self");
  repeat_along(plan, in, -1, Repeats::of(plan, repeats, in.numel()), outputSize, out);
}
void RepeatInterleaveInt(Plan& plan, const aclTensor* self, int64_t repeats, int64_t outputSize,
                         aclTensor* out) {
  repeat_along(plan, plan.input(self, "self"), -1, {std::nullopt, repeats}, outputSize, out);
}
void RepeatInterleaveWithDim(Plan& plan, const aclTensor* self, const aclTensor* repeats, int64_t dim,
                             int64_t outputSize, aclTensor* out) {
  const Operand in = at_least_1d(plan.input(self, "self"));
  const int along = plan.dim(dim, in);
  repeat_along(plan, in, along, Repeats::of(plan, repeats, in.sizes[along]), outputSize, out);
}
void RepeatInterleaveIntWithDim(Plan& plan, const aclTensor* self, int64_t repeats, int64_t dim,
                                int64_t outputSize, aclTensor* out) {
  const Operand in = at_least_1d(plan.input(self, "self"));
  repeat_along(plan, in, plan.dim(dim, in), {std::nullopt, repeats}, outputSize, out);
}

void RepeatInterleaveTensor(Plan& plan, const aclTensor* repeats, int64_t outputSize, aclTensor* out) {
  const Operand counts = plan.input(repeats, "repeats"), to = plan.output(out, "out");
  plan.require_dtype(counts, "repeats", kRepeats);
  plan.require_dtype(to, "out", kRepeats);
  plan.require_ndim(counts, "repeats", 1);
  plan.require_shape(to, "out", {outputSize});
  plan.run([=](const aclOpExecutor& e) { k::repeat_runs(counts.view(e), to.view(e)); });
}

// What each slice got from its repetitions adds up; half types in float.
void RepeatInterleaveGrad(Plan& plan, const aclTensor* yGrad, const aclTensor* repeats, int64_t axis,
                          const aclTensor* out) {
  const Operand grad = at_least_1d(plan.input(yGrad, "yGrad"));
  const int along = plan.dim(axis, grad);
  const Operand counts = plan.input(repeats, "repeats"), to = at_least_1d(plan.output(out, "out"));
  plan.require_dtype(counts, "repeats", kRepeats);
  plan.require_dtype(to, "out", domains::floating);
  plan.require_same_dtype(grad, "yGrad", to, "out");
  std::vector<int64_t> wanted(grad.sizes, grad.sizes + grad.ndim);
  if (to.ndim == grad.ndim) wanted[size_t(along)] = to.sizes[along];
  plan.require_shape(to, "out", wanted);
  if (counts.numel() != 1 && counts.numel() != to.sizes[along])
    plan.invalid("tensor 'repeats' has shape ", shape_text(counts), ", wanted 1 or ", to.sizes[along],
                 " elements");
  plan.run([=, times = Repeats{counts, 0}](const aclOpExecutor& e) {
    const DType compute = to.dtype == DType::float64 ? DType::float64 : DType::float32;
    const WriteAs sum(to.view(e), compute);
    k::fill(sum.view(), 0);
    const Temporary places({grad.sizes[along]}, DType::int64);
    times.fill(e, to.sizes[along], places.view());
    const ReadAs from(grad.view(e), compute);
    const Spread spread(places.view(), from.view(), along);
    const Along lookup(sum.view(), along, spread.view, false);
    k::scatter(lookup.table, lookup.lookup, from.view(), k::Combine::add);
    sum.finish();
  });
}

}  // namespace softnpu::ops
