// Largest and smallest elements with their positions.
#include "kernels/elementwise/functors.h"
#include "op_plans.h"
#include "ops/common/family.h"
#include "ops/common/shapes.h"

namespace softnpu::ops {

namespace k = mt::kernels;
using family::Argument;

namespace {

DimSet only(int dim) { return DimSet().set(size_t(dim)); }

void require_elements(const Plan& plan, const Operand& in, int dim) {
  if (in.sizes[dim] == 0)
    plan.invalid("dim ", dim, " of shape ", shape_text(in), " has no elements to choose from");
}

void arg_extremum(Plan& plan, bool largest, const aclTensor* self, int64_t dim, bool keepdim,
                  const aclTensor* out) {
  const Operand scalar_in = plan.input(self, "self"), given = plan.output(out, "out");
  const Operand in = at_least_1d(scalar_in);
  const int along = plan.dim(dim, in);
  plan.require_dtype(in, "self", domains::every_ordered);
  plan.require_dtype(given, "out", kInt64);
  require_elements(plan, in, along);
  const bool keep = keepdim && scalar_in.ndim > 0;
  const Operand to = family::kept_dims(plan, in, given, only(along), keep);
  plan.run([=](const aclOpExecutor& e) { k::arg_reduce(largest, in.view(e), to.view(e), along); });
}

void extremum_dim(Plan& plan, bool largest, const aclTensor* self, int64_t dim, bool keepdim,
                  const aclTensor* out, const aclTensor* indices) {
  const Operand scalar_in = plan.input(self, "self"), given = plan.output(out, "out"),
                given_index = plan.output(indices, "indices");
  const Operand in = at_least_1d(scalar_in);
  const int along = plan.dim(dim, in);
  plan.require_dtype(in, "self", domains::every_ordered);
  plan.require_same_dtype(given, "out", in, "self");
  plan.require_dtype(given_index, "indices", kInt64);
  require_elements(plan, in, along);
  const bool keep = keepdim && scalar_in.ndim > 0;
  const Operand to = family::kept_dims(plan, in, given, only(along), keep),
                index = family::kept_dims(plan, in, given_index, only(along), keep);
  plan.run(
      [=](const aclOpExecutor& e) { k::max_min_dim(largest, in.view(e), along, to.view(e), index.view(e)); });
}

}  // namespace

void ArgMax(Plan& plan, const aclTensor* self, const int64_t dim, const bool keepdim, aclTensor* out) {
  arg_extremum(plan, true, self, dim, keepdim, out);
}
void ArgMin(Plan& plan, const aclTensor* self, const int64_t dim, const bool keepdim, aclTensor* out) {
  arg_extremum(plan, false, self, dim, keepdim, out);
}
void MaxDim(Plan& plan, const aclTensor* self, int64_t dim, bool keepdim, aclTensor* out,
            aclTensor* indices) {
  extremum_dim(plan, true, self, dim, keepdim, out, indices);
}
void MinDim(Plan& plan, const aclTensor* self, int64_t dim, bool keepdim, aclTensor* out,
            aclTensor* indices) {
  extremum_dim(plan, false, self, dim, keepdim, out, indices);
}
void Max(Plan& plan, const aclTensor* self, aclTensor* out) {
  family::reduce<k::amax_op>(plan, Argument{self, "self"}, nullptr, false, Argument{out, "out"});
}
void Min(Plan& plan, const aclTensor* self, aclTensor* out) {
  family::reduce<k::amin_op>(plan, Argument{self, "self"}, nullptr, false, Argument{out, "out"});
}

}  // namespace softnpu::ops
