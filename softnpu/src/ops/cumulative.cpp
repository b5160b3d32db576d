// Running sums and products along a dimension.
#include "kernels/cumulative/cumulative.h"

#include "kernels/common/copy.h"
#include "kernels/common/temporary.h"
#include "op_plans.h"
#include "ops/common/shapes.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

struct Running {
  Operand in, out;
  int dim;
};

Running running(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* out) {
  const Running r{at_least_1d(plan.input(self, "self")), at_least_1d(plan.output(out, "out")), 0};
  plan.require_dtype(r.in, "self", domains::any);
  plan.require_dtype(r.out, "out", domains::numeric);
  plan.require_same_shape(r.in, "self", r.out, "out");
  return {r.in, r.out, plan.dim(dim, r.in)};
}

void accumulate(Plan& plan, k::Running operation, const aclTensor* self, int64_t dim, aclDataType type,
                const aclTensor* out) {
  const Running r = running(plan, self, dim, out);
  if (plan.dtype(type, "dtype") != r.out.dtype)
    plan.invalid("dtype is ", mt::info(plan.dtype(type, "dtype")).name, " but tensor 'out' is ",
                 mt::info(r.out.dtype).name);
  plan.run(
      [=](const aclOpExecutor& e) { k::cumulative(operation, r.in.view(e), r.out.view(e), r.dim, false); });
}

// Without the first (or last) entries along a dimension.
Operand cut(const Operand& operand, int dim, bool first) {
  Operand rest = operand;
  --rest.sizes[dim];
  if (first) rest.offset += operand.strides[dim] * int64_t(mt::itemsize(operand.dtype));
  return rest;
}

}  // namespace

void Cumsum(Plan& plan, const aclTensor* self, int64_t dim, aclDataType dtype, aclTensor* out) {
  accumulate(plan, k::Running::sum, self, dim, dtype, out);
}

// Exclusive: an element's sum is of those before it. That is the sum of all but the last, moved by one.
void CumsumV2(Plan& plan, const aclTensor* self, int64_t dim, bool exclusive, bool reverse, aclTensor* out) {
  const Running r = running(plan, self, dim, out);
  if (!exclusive || r.in.sizes[r.dim] == 0)
    return plan.run([=](const aclOpExecutor& e) {
      k::cumulative(k::Running::sum, r.in.view(e), r.out.view(e), r.dim, reverse);
    });
  const Operand from = cut(r.in, r.dim, reverse), to = cut(r.out, r.dim, !reverse);
  Operand edge = r.out;
  edge.sizes[r.dim] = 1;
  if (reverse)
    edge.offset += (r.out.sizes[r.dim] - 1) * r.out.strides[r.dim] * int64_t(mt::itemsize(r.out.dtype));
  plan.run([=](const aclOpExecutor& e) {
    const k::Temporary terms(from.sizes, from.ndim, from.dtype);
    k::copy(from.view(e), terms.view());
    k::cumulative(k::Running::sum, terms.view(), to.view(e), r.dim, reverse);
    k::fill(edge.view(e), Scalar(int64_t(0)));
  });
}

void Cumprod(Plan& plan, const aclTensor* input, const aclScalar* dim, const aclDataType dtype,
             aclTensor* out) {
  accumulate(plan, k::Running::product, input, plan.scalar(dim, "dim").to<int64_t>(), dtype, out);
}
void InplaceCumprod(Plan& plan, aclTensor* input, const aclScalar* dim) {
  const int64_t along = plan.scalar(dim, "dim").to<int64_t>();
  if (input == nullptr)
    throw PlanError(ACLNN_ERR_PARAM_NULLPTR, "aclnnInplaceCumprod: tensor 'input' is NULL");
  accumulate(plan, k::Running::product, input, along, input->type, input);
}

}  // namespace softnpu::ops
