// The largest and smallest so far, and medians.
#include "kernels/common/copy.h"
#include "kernels/common/temporary.h"
#include "kernels/sort/sort.h"
#include "op_plans.h"
#include "ops/common/family.h"
#include "ops/common/shapes.h"

namespace softnpu::ops {

namespace k = mt::kernels;

using family::kept_dims;
using family::of_everything;
using family::one_dim;

namespace {

void running_extremum(Plan& plan, bool max, const aclTensor* self, int64_t dim, const aclTensor* values,
                      const aclTensor* indices) {
  const Operand in = at_least_1d(plan.input(self, "self")),
                to = at_least_1d(plan.output(values, "valuesOut")),
                place = at_least_1d(plan.output(indices, "indicesOut"));
  plan.require_dtype(in, "self", domains::ordered);
  plan.require_same_dtype(to, "valuesOut", in, "self");
  plan.require_dtype(place, "indicesOut", k::dtype_set(DType::int32, DType::int64));
  plan.require_same_shape(in, "self", to, "valuesOut");
  plan.require_same_shape(in, "self", place, "indicesOut");
  const int along = plan.dim(dim, in);
  plan.run([=](const aclOpExecutor& e) {
    if (place.dtype == DType::int64)
      return k::running_extremum(max, in.view(e), along, to.view(e), place.view(e));
    const k::Temporary wide(in.sizes, in.ndim, DType::int64);
    k::running_extremum(max, in.view(e), along, to.view(e), wide.view());
    k::copy(wide.view(), place.view(e));
  });
}

void median_of_all(Plan& plan, const aclTensor* self, bool ignore_nan, const aclTensor* out) {
  const Operand in = plan.input(self, "self"), given = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::real);
  plan.require_same_dtype(given, "out", in, "self");
  const Operand to = of_everything(plan, in, given);
  plan.run([=](const aclOpExecutor& e) { k::median_of_all(in.view(e), ignore_nan, to.view(e)); });
}

void median_along(Plan& plan, const aclTensor* self, int64_t dim, bool keep, bool ignore_nan,
                  const aclTensor* values, const aclTensor* indices) {
  const Operand given = plan.input(self, "self"), value = plan.output(values, "valuesOut"),
                index = plan.output(indices, "indicesOut");
  const Operand in = at_least_1d(given);
  const int along = plan.dim(dim, in);
  plan.require_dtype(in, "self", domains::real);
  plan.require_same_dtype(value, "valuesOut", in, "self");
  plan.require_dtype(index, "indicesOut", k::dtype_set(DType::int64));
  if (in.sizes[along] == 0 && value.numel() != 0)
    plan.invalid("dim ", dim, " of shape ", shape_text(in), " has no elements to choose from");
  const DimSet dims = one_dim(plan, dim, in);
  keep = keep && given.ndim > 0;
  const Operand to = kept_dims(plan, in, value, dims, keep), place = kept_dims(plan, in, index, dims, keep);
  plan.run(
      [=](const aclOpExecutor& e) { k::median(in.view(e), along, ignore_nan, to.view(e), place.view(e)); });
}

}  // namespace

void Cummax(Plan& plan, const aclTensor* self, int64_t dim, aclTensor* valuesOut, aclTensor* indicesOut) {
  running_extremum(plan, true, self, dim, valuesOut, indicesOut);
}
void Cummin(Plan& plan, const aclTensor* self, int64_t dim, aclTensor* valuesOut, aclTensor* indicesOut) {
  running_extremum(plan, false, self, dim, valuesOut, indicesOut);
}

void Median(Plan& plan, const aclTensor* self, aclTensor* valuesOut) {
  median_of_all(plan, self, false, valuesOut);
}
void NanMedian(Plan& plan, const aclTensor* self, aclTensor* out) { median_of_all(plan, self, true, out); }
void MedianDim(Plan& plan, const aclTensor* self, int64_t dim, bool keepDim, aclTensor* valuesOut,
               aclTensor* indicesOut) {
  median_along(plan, self, dim, keepDim, false, valuesOut, indicesOut);
}
void NanMedianDim(Plan& plan, const aclTensor* self, int64_t dim, bool keepDim, aclTensor* valuesOut,
                  aclTensor* indicesOut) {
  median_along(plan, self, dim, keepDim, true, valuesOut, indicesOut);
}

}  // namespace softnpu::ops
